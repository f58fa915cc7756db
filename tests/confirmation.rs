//! A verdict and the records beside it: what confirms it, what contradicts it, and what says nothing.

// Functions beside the tests are parts of tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::path::{Path, PathBuf};

use blktune::experiment::schedule::order_of;
use blktune::record::confirmation::{self, Confirmation};
use blktune::record::manifest::Manifest;
use blktune::record::reader::Record;
use blktune::record::summary::{Ended, Summary};
use blktune::record::writer::Writer;
use serde_json::{Value, json};
use support::blktune;
use support::experiment_record::{manifest, plan, trial};

/// A seed that begins with the other cell than that of the made-up manifest.
fn other_seed() -> u64 {
    (1..64).find(|s| order_of(*s, 1) != order_of(7261, 1)).unwrap()
}

/// What is changed of a manifest, and of the factor by which the candidate differs.
type Change<'a> = &'a dyn Fn(&mut Manifest, &mut f64);

/// The record of an experiment on a disk with a serial number.
fn write(dir: &Path, name: &str, change: Change<'_>) -> PathBuf {
    let place = dir.join(name);
    let mut m = manifest("TESTDISK");
    m.device.serial = Some("S1".to_owned());
    m.device.diskseq = Some(9);
    let mut factor = 1.0;
    change(&mut m, &mut factor);
    let mut writer = Writer::create(&place, &m).unwrap();
    for p in &plan() {
        let mut t = trial(p);
        if p.cell == Some(1) {
            t.readings.values_mut().for_each(|v| *v *= factor);
        }
        writer.trial(&t, &Value::Null).unwrap();
    }
    let mut summary = Summary::new(Ended::Finished, "all blocks were run", 371.0);
    summary.analysis = Some(Record::open(&place).unwrap().judge().unwrap());
    writer.finish(&summary).unwrap();
    place
}

/// The same after a reboot, with the other cell first.
fn anew(m: &mut Manifest) {
    m.host.boot_id = Some("another".to_owned());
    m.design.seed = other_seed();
    "2026-12-03T08:00:00+01:00".clone_into(&mut m.started);
    m.started_wall_ns += 1;
}

fn said(place: &Path) -> Option<Confirmation> {
    let record = Record::open(place).unwrap();
    let beside = [place.parent().unwrap().to_path_buf()];
    confirmation::of(place, &record.manifest, record.summary.as_ref().unwrap(), &beside)
}

#[test]
fn the_same_after_a_reboot_with_the_other_cell_first_confirms_it() {
    let dir = tempfile::tempdir().unwrap();
    let first = write(dir.path(), "a", &|_, _| {});
    let alone = said(&first).unwrap();
    assert!(!alone.confirmed && alone.record.is_none());
    assert!(alone.text.starts_with("One experiment: ") && alone.text.contains("a reboot"), "{}", alone.text);
    let seed: u64 = alone.text.split("--seed ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
    assert_ne!(order_of(seed, 1), order_of(7261, 1), "the seed it names begins with the other cell");
    // The device may have another name and other numbers by then.
    let second = write(dir.path(), "b", &|m, _| {
        anew(m);
        m.design.seed = seed;
        "sdy".clone_into(&mut m.device.name);
        "sdy".clone_into(&mut m.design.device);
        m.device.devnum = Some("8:64".to_owned());
    });
    for (place, other, date) in [(&first, &second, "2026-12-03"), (&second, &first, "2026-12-02")] {
        let said = said(place).unwrap();
        assert!(said.confirmed, "{said:?}");
        assert_eq!(said.record.as_deref(), Some(&*std::fs::canonicalize(other).unwrap().to_string_lossy()));
        assert!(said.text.starts_with(&format!("Confirmed by an experiment of {date}")), "{}", said.text);
        assert!(said.text.contains("mq-deadline is faster by at least 3 %"), "{}", said.text);
    }
    let (mut command, _home) = blktune();
    let out = command.arg("report").arg(&first).assert().success();
    let text = String::from_utf8(out.get_output().stdout.clone()).unwrap();
    assert!(text.lines().nth(4).unwrap().starts_with("Confirmed by an experiment of 2026-12-03"), "{text}");
    let (mut command, _home) = blktune();
    let out = command.arg("report").arg(&first).args(["--format", "json"]).assert().success();
    let document: Value = serde_json::from_slice(&out.get_output().stdout).unwrap();
    assert_eq!(document["confirmation"]["confirmed"], true);
    // The trials are those of one experiment.
    assert_eq!(document["trials"].as_array().unwrap().len(), plan().len());
}

#[test]
fn what_is_no_fresh_repeat_of_the_same_question_says_nothing() {
    let no: [(&str, Change<'_>); 13] = [
        ("the same boot", &|m, _| m.host.boot_id = manifest("x").host.boot_id),
        ("the same cell first", &|m, _| m.design.seed = 7261),
        ("another margin", &|m, _| m.design.margin = 0.02),
        ("another metric", &|m, _| m.design.metric = blktune::experiment::metric::Metric::Mean),
        ("another number of blocks", &|m, _| m.design.blocks = blktune::experiment::design::Blocks::Adaptive),
        ("another workload", &|m, _| m.design.workload.set = Vec::new()),
        ("another disk", &|m, _| m.device.serial = Some("S2".to_owned())),
        ("another size", &|m, _| m.device.size_bytes += 512),
        ("another kernel", &|m, _| m.host.kernel = Some("6.99".to_owned())),
        ("another processor", &|m, _| m.host.cpu = Some("Other".to_owned())),
        ("other settings", &|m, _| m.settings.get_mut("nr_requests").unwrap().value = Some("2".to_owned())),
        ("a calibration", &|m, _| m.design.calibration = true),
        ("no id", &|m, _| m.device.serial = None),
    ];
    for (what, change) in no {
        let dir = tempfile::tempdir().unwrap();
        let first = write(dir.path(), "a", &|_, _| {});
        let again = |m: &mut Manifest, f: &mut f64| {
            anew(m);
            change(m, f);
        };
        write(dir.path(), "b", &again);
        let said = said(&first).unwrap();
        assert!(!said.confirmed && said.record.is_none(), "{what}: {said:?}");
    }
    // Its driver bound again within a boot is a start anew, too.
    let dir = tempfile::tempdir().unwrap();
    let first = write(dir.path(), "a", &|_, _| {});
    let again = |m: &mut Manifest, _: &mut f64| {
        anew(m);
        m.host.boot_id = manifest("x").host.boot_id;
        m.device.diskseq = Some(10);
    };
    write(dir.path(), "b", &again);
    assert!(said(&first).unwrap().confirmed);
}

#[test]
fn what_came_to_something_else_is_said() {
    for (factor, why) in [(0.9, "the other way"), (1.1, "an interval far away")] {
        let dir = tempfile::tempdir().unwrap();
        let first = write(dir.path(), "a", &|_, _| {});
        let other = |m: &mut Manifest, f: &mut f64| {
            anew(m);
            *f = factor;
        };
        write(dir.path(), "b", &other);
        let said = said(&first).unwrap();
        assert!(!said.confirmed && said.record.is_some(), "{why}: {said:?}");
        assert!(said.text.starts_with("Not confirmed: an experiment of 2026-12-03"), "{why}: {}", said.text);
    }
}

#[test]
fn records_that_are_none_or_have_no_verdict_are_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let first = write(dir.path(), "a", &|_, _| {});
    std::fs::create_dir(dir.path().join("empty")).unwrap();
    std::fs::write(dir.path().join("file"), "no record").unwrap();
    for (name, cut) in [("b", "summary.json"), ("c", "manifest.json")] {
        let place = write(dir.path(), name, &|m, _| anew(m));
        std::fs::write(place.join(cut), "{\"schema\": ").unwrap();
    }
    let stopped = write(dir.path(), "d", &|m, _| anew(m));
    let file = stopped.join("summary.json");
    let text = std::fs::read_to_string(&file).unwrap().replace("\"finished\"", "\"stopped\"");
    std::fs::write(&file, text).unwrap();
    assert_eq!(said(&first).unwrap().record, None);
    // A record without a verdict has nothing to be confirmed.
    let record = Record::open(&stopped).unwrap();
    let summary = record.summary.unwrap();
    assert_eq!(confirmation::of(&stopped, &record.manifest, &summary, &[dir.path().to_path_buf()]), None);
    assert_eq!(json!(said(&first).unwrap().confirmed), false);
}
