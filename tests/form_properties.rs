//! Whatever is pressed in the form of a workload, what is started is a run that holds together and writes to no device.

mod support;

use std::cell::Cell;

use blktune::app::effect::{Effect, RunTarget};
use blktune::app::key::Key;
use blktune::app::message::Message;
use blktune::app::model::{Model, Options};
use blktune::app::screens::fields::FIELDS;
use blktune::app::update::update;
use blktune::config::theme::Theme;
use blktune::workload::job::Job;
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use support::chance::until_seen;
use support::model::{device, presets};

/// Keys of the form, and texts that are typed into a field; some begin as a value.
fn presses() -> impl Strategy<Value = Vec<Key>> {
    let keys: Vec<Key> = "jjjjkkllll  hhxigG".chars().map(Key::Char).collect();
    let values = [
        "4k",
        "16",
        "none",
        "all",
        "false",
        "1000",
        "randwrite",
        "rw",
        "0",
        "dsync",
        "poisson",
        "idle",
        "1,5",
    ];
    let typed = prop_oneof![
        4 => prop::sample::select(values.to_vec()).prop_map(str::to_owned),
        1 => "\\PC{0,12}",
    ];
    let typed = typed.prop_map(|text| {
        let erase = std::iter::repeat_n(Key::Backspace, 20);
        let text: Vec<Key> = text.chars().filter(|c| !c.is_control()).map(Key::Char).collect();
        [Key::Enter].into_iter().chain(erase).chain(text).chain([Key::Enter, Key::Esc]).collect()
    });
    prop_oneof![
        30 => prop::sample::select(keys).prop_map(|k| vec![k]),
        4 => Just(vec![Key::Enter]),
        4 => typed,
        2 => Just(vec![Key::Esc]),
        2 => Just(vec![Key::End, Key::Enter]),
        1 => Just(vec![Key::Tab, Key::PageDown, Key::Enter]),
    ]
}

#[test]
fn what_is_started_holds_together_and_writes_to_no_device() {
    let [started, wrote, several, unusual] = [const { Cell::new(0u32) }; 4];
    let all = (prop::collection::vec(presses(), 1..150), 0usize..11, any::<bool>());
    let try_it = |(presses, preset, chosen): (Vec<Vec<Key>>, usize, bool)| {
        let mut model = Model::new(Options { presets: presets(), ..Options::default() });
        let opened = [
            Message::Resize { width: 80, height: 24 },
            Message::Inventory(if chosen { vec![device("sda", 48)] } else { Vec::new() }),
            Message::Key(Key::Char('3')),
        ];
        let down = std::iter::repeat_n(Message::Key(Key::Down), preset);
        for message in opened.into_iter().chain(down).chain([Message::Key(Key::Enter)]) {
            let _ = update(&mut model, message);
        }
        for (i, key) in presses.into_iter().flatten().enumerate() {
            for effect in update(&mut model, Message::Key(key)) {
                let Effect::StartRun { jobs, target, .. } = effect else { continue };
                started.set(started.get() + 1);
                several.set(several.get() + u32::from(jobs.len() > 1));
                prop_assert!(!jobs.is_empty() && jobs.iter().all(|j| j.check() == Ok(())));
                prop_assert!(jobs.iter().all(|j| (j.ramp, j.runtime) == (jobs[0].ramp, jobs[0].runtime)));
                let writes = jobs.iter().any(|j| j.rw.writes());
                wrote.set(wrote.get() + u32::from(writes));
                prop_assert!(!writes || target == RunTarget::Scratch, "{:?}", target);
                unusual.set(unusual.get() + u32::from(changed(&jobs)));
                let _ = update(&mut model, Message::RunFinished(Err("tried".to_owned())));
            }
            let w = &model.workload;
            prop_assert!(w.rows().contains(&w.row) || !w.in_fields);
            prop_assert!(w.chosen().is_some());
            prop_assert_eq!(&w.presets, &presets());
            if i % 16 == 0 {
                draw(&model);
            }
        }
        draw(&model);
        Ok(())
    };
    let sought = [
        (&started, 11, "a start"),
        (&wrote, 11, "a start of a job that writes"),
        (&several, 11, "a start of several jobs"),
        (&unusual, 11, "a start of a job that is no preset's"),
    ];
    until_seen(100, file!(), &all, &sought, try_it);
}

/// Whether no preset has these jobs.
fn changed(jobs: &[Job]) -> bool {
    !presets().iter().any(|p| {
        p.jobs.len() == jobs.len()
            && p.jobs.iter().zip(jobs).all(|(a, b)| FIELDS.iter().all(|f| f.value(a) == f.value(b)))
    })
}

fn draw(model: &Model) {
    for (width, height) in [(60, 16), (80, 24), (140, 50)] {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| blktune::ui::render(model, &Theme::default(), frame)).unwrap();
    }
}
