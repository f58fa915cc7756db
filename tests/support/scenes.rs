//! The states of the screen that are worth a picture, each reached by messages and keys alone.

// Each test binary uses its own part of it, and fails where it can not set up what it needs.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use blktune::app::message::Message;
use blktune::tuning::change::{ApplyReport, ChangeReport, Outcome, SideEffect};

use super::model::{Screen, name, queue};

/// The settings of the disk, read and open.
pub fn settings(width: u16, height: u16) -> Screen {
    let mut s = Screen::live(width, height);
    s.keys("/sda<Enter>");
    s.keys("<Enter>");
    s.send(Message::Queue { device: name("sda"), state: queue("mq-deadline", 4096) });
    s
}

/// The same with a scheduler and a read-ahead staged.
pub fn staged(width: u16, height: u16) -> Screen {
    let mut s = settings(width, height);
    s.keys("g  ");
    while s.model.settings.setting.as_deref() != Some("read_ahead_kb") {
        s.keys("j");
    }
    s.keys("h");
    s
}

/// One change with its outcome.
pub fn report(
    setting: &str,
    requested: &str,
    before: &str,
    effective: &str,
    outcome: Outcome,
) -> ChangeReport {
    ChangeReport {
        device: name("sda"),
        name: setting.to_owned(),
        requested: requested.to_owned(),
        before: Some(before.to_owned()),
        effective: Some(effective.to_owned()),
        outcome,
        message: None,
    }
}

/// The report of changes, with one clamped and a side effect.
pub fn outcome(width: u16, height: u16) -> Screen {
    let mut s = staged(width, height);
    s.keys("c<Enter>");
    let mut clamped = report("nr_requests", "5000", "256", "2048", Outcome::Clamped);
    clamped.message = Some("the kernel allows at most 2048 requests under a scheduler".to_owned());
    let side = SideEffect {
        device: name("sda"),
        name: "wbt_lat_usec".to_owned(),
        before: Some("75000".to_owned()),
        after: Some("0".to_owned()),
    };
    let result = ApplyReport {
        changes: vec![report("scheduler", "bfq", "mq-deadline", "bfq", Outcome::Applied), clamped],
        side_effects: vec![side],
        ..ApplyReport::default()
    };
    let device = s.id("sda");
    s.send(Message::Applied { device, result: Ok(result) });
    s
}
