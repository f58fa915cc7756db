//! From a conducted experiment to its record, and from that to what follows: by the record alone, and by the table of its
//! trials, the same is said as when it ended.

use std::path::{Path, PathBuf};

use blktune::experiment::analysis::{Analysis, analyse};
use blktune::experiment::bench::BenchError;
use blktune::experiment::conductor::Conductor;
use blktune::experiment::design::{Blocks, Cell, Isolation};
use blktune::experiment::estimate::block_time;
use blktune::experiment::event::{Ending, Event};
use blktune::experiment::observation::{Measure, Observation, Question, from_trials};
use blktune::experiment::schedule;
use blktune::experiment::table::{Preamble, Table, write};
use blktune::experiment::trial::Role;
use blktune::record::reader::Record;
use blktune::record::writer::Writer;
use blktune::report::Report;
use blktune::stats::block::Order;
use proptest::prelude::*;

use super::experiment_record::manifest;
use super::made::{Made, Nature, first_block, question, rotational, run};
use super::simulation::truths;

/// What is said when it ends.
fn said(conductor: &Conductor) -> Analysis {
    let design = conductor.design();
    let question = Question::of(design, Some(block_time(design).as_secs_f64()));
    analyse(&question, &from_trials(&question, conductor.trials()), &conductor.circumstances())
}

/// The record of these events, without a summary, as a kill right after them leaves it.
fn record(dir: &Path, conductor: &Conductor, events: &[Event]) -> PathBuf {
    let place = dir.join("record");
    let mut m = manifest("DISK");
    m.design = conductor.design().clone();
    m.plan = schedule::whole(&m.design);
    let mut writer = Writer::create(&place, &m).unwrap();
    for event in events {
        match event {
            Event::TrialDone { trial, detail } => writer.trial(trial, detail).unwrap(),
            event => writer.event(event).unwrap(),
        }
    }
    place
}

/// Without what a table does not hold.
fn of_table(mut a: Analysis) -> Analysis {
    for cell in &mut a.cells {
        (cell.levels, cell.bytes_per_s) = (Vec::new(), None);
    }
    a
}

fn of_csv(csv: &str) -> Analysis {
    let table = Table::read(csv.as_bytes(), None).unwrap();
    let margin = table.preamble.margin.unwrap();
    analyse(&table.question(margin, false), &table.observations, &table.circumstances())
}

/// Record and table say what was said at the end.
fn held(conductor: &Conductor, events: &[Event]) -> Analysis {
    let dir = tempfile::tempdir().unwrap();
    let record = Record::open(&record(dir.path(), conductor, events)).unwrap();
    assert_eq!(record.damage, Vec::<String>::new());
    let said = said(conductor);
    assert_eq!(record.judge().unwrap(), said);
    let csv = Report::of(&record).csv().unwrap();
    assert_eq!(of_csv(&csv), of_table(said.clone()), "{csv}");
    said
}

#[test]
fn whatever_is_true_record_and_table_say_what_was_said() {
    for ((nature, asked), seed) in truths().into_iter().zip(7..) {
        let mut bench = Made::new(nature, seed);
        let (conductor, _, events) = run(asked(seed), &mut bench, None);
        held(&conductor, &events);
    }
}

#[test]
fn stopped_at_any_time_with_void_blocks_it_is_the_same() {
    let nature = Nature { noise: 0.02, ..Nature::default() };
    let start = |lead_ins, blocks, stop_at| {
        let mut bench = Made::new(nature, 5);
        bench.spoil = Some(Box::new(|n, _, m| {
            m.errors = u64::from([6, 30].contains(&n));
            m.slices = vec![if n % 2 == 0 { 1.0 } else { 9.0 }; 80];
            Ok(())
        }));
        let design = question("randread-4k", 42, |a| {
            (a.lead_ins, a.blocks, a.margin) = (lead_ins, blocks, Some(0.07));
        });
        let (conductor, _, events) = run(design, &mut bench, stop_at);
        (conductor, events)
    };
    let mut sentences = std::collections::BTreeSet::new();
    for (lead_ins, blocks) in [(true, Blocks::Adaptive), (false, Blocks::Fixed(8))] {
        let (_, whole) = start(lead_ins, blocks, None);
        for at in (12..whole.len()).step_by(53).chain([whole.len()]) {
            let (conductor, events) = start(lead_ins, blocks, Some(at));
            let a = held(&conductor, &events);
            sentences.insert(a.sentence().split(':').next().unwrap_or_default().to_owned());
        }
    }
    assert!(sentences.iter().any(|s| s.contains("Preliminary (0 of")), "{sentences:?}");
    assert!(sentences.iter().any(|s| s.contains("stopped by the user")), "{sentences:?}");
    assert!(sentences.len() > 3, "{sentences:?}");
}

#[test]
fn what_makes_it_invalid_and_what_is_remarked_is_in_both() {
    let mut bench = Made::new(Nature { noise: 0.01, ..Nature::default() }, 1);
    bench.spoil = Some(Box::new(|_, queue, m| {
        m.errors = u64::from(queue_of(queue) == "bfq");
        Ok(())
    }));
    let (conductor, conducted, events) = run(question("randread-4k", 42, |_| {}), &mut bench, None);
    assert_eq!(conducted.ending, Ending::Invalid);
    assert!(held(&conductor, &events).sentence().starts_with("Not valid: "));

    // A workload that writes and never becomes steady; and the trials after the last block fail.
    let mut bench = Made::new(Nature { noise: 0.9, ..Nature::default() }, 1);
    bench.spoil = Some(Box::new(|n, _, m| {
        m.errors = u64::from(n > 25 + 3 + 30);
        Ok(())
    }));
    let design = question("randwrite-4k", 42, |a| a.blocks = Blocks::Fixed(6));
    let (conductor, _, events) = run(design, &mut bench, None);
    let a = held(&conductor, &events);
    assert!(
        a.warnings.iter().any(|w| w == "the workload was not steady after 25 rounds"),
        "{:?}",
        a.warnings
    );
    assert!(
        a.warnings.iter().any(|w| w.contains("is not known: 4 trials after the last block")),
        "{:?}",
        a.warnings
    );

    // Stopped after a sequence of bare writes carried something over.
    let seed = first_block(Order::Abba);
    let mut bench = Made::new(Nature { noise: 0.01, ..Nature::default() }, 1);
    let (conductor, conducted, events) = run(rotational(seed, Isolation::Sequence), &mut bench, Some(70));
    assert_eq!(conducted.ending, Ending::Stopped);
    let a = held(&conductor, &events);
    assert!(
        a.sentence().contains("read_ahead_kb was 128 in the first trial of rotational=0"),
        "{}",
        a.sentence()
    );

    // A device that goes away.
    let mut bench = Made::new(Nature { noise: 0.01, ..Nature::default() }, 1);
    bench.spoil =
        Some(Box::new(
            |n, _, _| if n < 20 { Ok(()) } else { Err(BenchError::Gone("vdb is gone".to_owned())) },
        ));
    let (conductor, _, events) = run(question("randread-4k", 42, |_| {}), &mut bench, None);
    assert_eq!(held(&conductor, &events).sentence(), "Preliminary (3 of 6 blocks); it could not go on.");
}

fn queue_of(queue: &super::fake::FakeQueue) -> String {
    use blktune::tuning::control::QueueControl as _;
    queue.read().effective("scheduler").unwrap()
}

#[test]
fn the_command_pipes_into_the_other() {
    let mut bench = Made::new(Nature { noise: 0.01, effect: 0.05, ..Nature::default() }, 3);
    let design = question("randread-4k", 3, |a| a.margin = Some(0.02));
    let (conductor, _, events) = run(design, &mut bench, None);
    let dir = tempfile::tempdir().unwrap();
    let place = record(dir.path(), &conductor, &events);
    let program = assert_cmd::cargo::cargo_bin!("blktune");
    let shell = format!(
        "\"{0}\" report \"{1}\" --format csv | \"{0}\" analyse - --json",
        program.display(),
        place.display()
    );
    let out = std::process::Command::new("sh").args(["-c", &shell]).output().unwrap();
    let json: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let said = said(&conductor);
    assert_eq!(json["comparisons"][0]["sentence"], said.sentence());
    assert_eq!(json["order"]["light"], serde_json::to_value(said.order.light).unwrap());
    assert_eq!((json["adaptive"].clone(), json["margin"].as_f64()), (true.into(), Some(0.02)));
}

/// Role, cell, void, readings, and whether a number is left out before it.
type One = (Role, usize, bool, [Option<f64>; 3], bool);

fn observations() -> impl Strategy<Value = Vec<Observation>> {
    let role = prop_oneof![
        Just(Role::Trial),
        Just(Role::LeadIn),
        Just(Role::BaselineBefore),
        Just(Role::BaselineAfter),
        Just(Role::Precondition)
    ];
    let value = proptest::option::of(prop_oneof![1e-300..1e300_f64, 1.0..1e9_f64]);
    let one = (role, 0..2_usize, any::<bool>(), proptest::array::uniform3(value), any::<bool>());
    proptest::collection::vec(one, 1..40).prop_map(|all| {
        let of = |(i, (role, cell, void, values, gap)): (usize, One)| {
            let place = u32::try_from(i).unwrap();
            let inside = matches!(role, Role::Trial | Role::LeadIn);
            Observation {
                number: place * 2 + 1 + u32::from(gap),
                role,
                cell: inside.then_some(cell),
                block: inside.then_some(place / 4),
                position: (role == Role::Trial).then_some(u8::try_from(place % 4 + 1).unwrap()),
                void,
                started_s: Some(f64::from(place) * 0.1),
                moved: None,
                values: values.to_vec(),
            }
        };
        all.into_iter().enumerate().map(of).collect()
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        all in observations(),
        names in ("[^\\p{C}\\s][^\\p{C}]{0,20}[^\\p{C}\\s]", "[#\",;]{2,5}"),
        margin in 0.005..=0.5_f64,
        block_s in proptest::option::of(0.1..1e6_f64),
        seed: u64,
        why in proptest::option::of("[^\\p{C}\\s]{1,40}"),
    ) {
        let cells: Vec<Cell> =
            [names.0, names.1].map(|name| Cell { name: blktune::sys::attr::clean(name.as_bytes()).trim().to_owned(), levels: Vec::new() }).to_vec();
        prop_assume!(cells[0].name != cells[1].name);
        let measures: Vec<Measure> = ["p99", "iops", "mean"].map(Measure::of_word).to_vec();
        let question = Question { cells, measures, margin, blocks: Blocks::Fixed(6), block_trials: Some(4), block_s, seed };
        let told = blktune::experiment::circumstances::Circumstances { invalid: why.clone(), carried_over: why.clone(), remarks: why.into_iter().collect(), early: None };
        let csv = write(&question, &all, &Preamble::of(&question, &told), &[("device", "a\nblocks: auto")]).unwrap();
        let table = Table::read(csv.as_bytes(), None).map_err(|e| TestCaseError::fail(format!("{e}\n{csv}")))?;
        let read = table.question(table.preamble.margin.unwrap(), false);
        prop_assert_eq!((&read.cells, read.margin, read.block_s, read.seed), (&question.cells, margin, block_s, seed));
        prop_assert_eq!((read.blocks, read.block_trials, table.circumstances()), (question.blocks, Some(4), told));
        for (a, b) in all.iter().zip(&table.observations) {
            let values = |o: &Observation, of: &Question| -> Vec<Option<f64>> {
                let at = |w: &Measure| of.measures.iter().position(|m| m.word == w.word).and_then(|m| o.reading(m));
                question.measures.iter().map(at).collect()
            };
            prop_assert_eq!(values(a, &question), values(b, &read));
            let rest = |o: &Observation| Observation { values: Vec::new(), ..o.clone() };
            prop_assert_eq!(rest(a), rest(b));
        }
        prop_assert_eq!(all.len(), table.observations.len());
    }
}
