//! Where an experiment is, in words: what it is about, what is being done, and how long it takes yet.

use std::time::Duration;

use crate::app::screens::fields::seconds;
use crate::experiment::design::Blocks;
use crate::experiment::event::Phase;
use crate::experiment::schedule::MOST_ROUNDS;
use crate::experiment::sentence;
use crate::experiment::trial::{PlannedTrial, Role};
use crate::units::mib_per_s;
use crate::workload::live;

use super::course::Course;

/// Narrower than this the line of what is done is shorter.
const WIDE: u16 = 76;
/// From this width on it has what the trial moves.
const WIDEST: u16 = 100;

/// What is compared, by what.
#[must_use]
pub fn question(course: &Course) -> String {
    let d = course.design();
    let by = d.metric.word();
    if d.calibration {
        return format!("calibration: the same twice, by {by}");
    }
    let factors: Vec<&str> = d.factors.iter().map(|f| f.name.as_str()).collect();
    format!("{}: {}, by {by}", factors.join(" with "), course.cells())
}

/// How it is measured.
#[must_use]
pub fn terms(course: &Course) -> String {
    let d = course.design();
    let mut terms = vec![d.workload.preset.clone()];
    terms.extend(d.workload.set.iter().cloned());
    terms.extend(d.target.as_ref().map(|t| format!("target {}", t.display())));
    terms.push(format!("margin {}", sentence::margin(d.margin)));
    terms.push(format!("{} a trial after {} of ramp", seconds(d.trial), seconds(d.ramp)));
    if !d.lead_ins {
        terms.push("no lead-ins".to_owned());
    }
    if d.control {
        terms.push("a control".to_owned());
    }
    terms.push(format!("seed {}", d.seed));
    terms.join(", ")
}

/// The block, the trial and what is done for it.
#[must_use]
pub fn now(course: &Course, width: u16) -> String {
    if !course.begun {
        return match course.progress.as_ref().and_then(|p| p.written) {
            Some((done, all)) => format!("writing the scratch file, {done} of {all}"),
            None if course.stopping => "stopping".to_owned(),
            None => "starting: looking at the device and what else uses it".to_owned(),
        };
    }
    let Some(plan) = &course.trial else {
        let putting_back = course.phase == Some(Phase::PuttingBack);
        let word = if putting_back { "putting everything back" } else { "between two trials" };
        return word.to_owned();
    };
    let far = course.far();
    let of = if width < WIDE { String::new() } else { format!(" of {}", far.trials) };
    format!(
        "{}  trial {}{of}  {}: {}",
        place(course, plan),
        plan.number,
        cell(course, plan),
        doing(course, width)
    )
}

/// Where the trial stands in the schedule.
fn place(course: &Course, plan: &PlannedTrial) -> String {
    let d = course.design();
    match (plan.block, plan.role) {
        (Some(block), _) => {
            let looks = crate::experiment::estimate::looks_of(d);
            let of = match (d.blocks, looks.first(), looks.last()) {
                (Blocks::Adaptive, Some(first), Some(last)) => format!("{first}..{last}"),
                (_, _, last) => last.map(usize::to_string).unwrap_or_default(),
            };
            let again = if plan.attempt > 1 { ", again," } else { "" };
            format!("block {block}{again} of {of}")
        }
        (None, Role::Precondition) => "until it is steady".to_owned(),
        (None, Role::BaselineAfter) => "after the last block".to_owned(),
        (None, _) => "before the first block".to_owned(),
    }
}

fn cell(course: &Course, plan: &PlannedTrial) -> String {
    let cell = plan.cell.and_then(|c| course.design().cells.get(c));
    let name = cell.map_or("as found", |c| c.name.as_str());
    if plan.role == Role::LeadIn { format!("{name}, lead-in") } else { name.to_owned() }
}

/// What is done for the trial.
fn doing(course: &Course, width: u16) -> String {
    let d = course.design();
    match course.phase {
        None | Some(Phase::Draining) => "draining".to_owned(),
        Some(Phase::Applying) => "settings".to_owned(),
        Some(Phase::Settling) => "settling".to_owned(),
        Some(Phase::PuttingBack) => "putting everything back".to_owned(),
        Some(Phase::Measuring) => {
            let of = |word: &str, elapsed: Duration, all: Duration| {
                format!("{word} {} of {} s", elapsed.min(all).as_secs(), all.as_secs())
            };
            match &course.progress {
                Some(p) if p.phase == live::Phase::Ramp => of("ramp", p.elapsed.duration(), d.ramp),
                Some(p) if p.phase == live::Phase::Measuring => {
                    let rate = p.bytes_per_s.filter(|_| width >= WIDEST);
                    let rate = rate.map_or_else(String::new, |r| format!(", {} MiB/s", mib_per_s(r)));
                    of("measuring", p.elapsed.duration(), d.trial) + &rate
                }
                Some(p) if p.phase == live::Phase::Draining => "measured".to_owned(),
                _ => "measuring".to_owned(),
            }
        }
    }
}

/// How long it takes yet.
#[must_use]
pub fn left(course: &Course) -> String {
    if course.stopping {
        return "stopping: the trial is ended and everything put back".to_owned();
    }
    if !course.begun {
        return String::new();
    }
    let far = course.far();
    let most = clock(far.at_most);
    if course.trial.as_ref().is_some_and(|t| t.role == Role::Precondition) {
        let rounds = course.trials.iter().filter(|t| t.plan.role == Role::Precondition).count();
        return format!("{rounds} rounds so far, at most {MOST_ROUNDS}; then at most {most}");
    }
    match (far.to_look, course.look) {
        (Some((time, look)), _) if time < far.at_most => {
            format!("{} to the look at {look} blocks; at most {most} left", clock(time))
        }
        (Some(_), _) => format!("at most {most} left"),
        (None, Some((blocks, true))) => format!("look at {blocks} blocks; {most} left"),
        (None, Some((blocks, false))) => {
            format!("judged at {blocks} blocks; {most} left: does it read as before?")
        }
        (None, None) => format!("{most} left"),
    }
}

/// `0:32`, `14:31`, `1:02:03`.
#[must_use]
pub fn clock(time: Duration) -> String {
    let s = time.as_secs();
    let (h, m, s) = (s / 3600, s / 60 % 60, s % 60);
    if h > 0 { format!("{h}:{m:02}:{s:02}") } else { format!("{m}:{s:02}") }
}
