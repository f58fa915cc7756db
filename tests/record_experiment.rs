//! Records of experiments: what was written is read, wherever it was cut off and whoever wrote it.

// Functions beside the tests are parts of tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use blktune::experiment::design::Isolation;
use blktune::experiment::event::{Ending, Event, Phase};
use blktune::record::RecordError;
use blktune::record::fit::differences;
use blktune::record::reader::Record;
use blktune::record::summary::{Ended, Summary};
use blktune::record::writer::Writer;
use blktune::record::{place, reader};
use blktune::sys::name::KernelName;
use serde_json::{Value, json};
use support::experiment_record::{device, files, manifest, plan, trial};

/// Where the child process writes.
const PLACE: &str = "BLKTUNE_TEST_RECORD";

/// A whole record below `dir`, of the first `n` trials.
fn write(dir: &Path, n: usize, summary: bool) -> PathBuf {
    let place = dir.join("records/one");
    let mut writer = Writer::create(&place, &manifest("TESTDISK 480G")).unwrap();
    for planned in plan().iter().take(n) {
        writer.event(&json!({"kind": "trial_begins", "number": planned.number})).unwrap();
        writer
            .trial(&trial(planned), &json!({"total": {"ios": planned.number}, "note": "a\u{1b}[2Jb"}))
            .unwrap();
    }
    if summary {
        writer.finish(&Summary::new(Ended::Finished, "all blocks were run", 700.0)).unwrap();
    }
    place
}

#[test]
fn what_was_written_is_read_to_the_last_digit() {
    let dir = tempfile::tempdir().unwrap();
    let place = write(dir.path(), usize::MAX, true);
    let record = Record::open(&place).unwrap();
    let expected: Vec<_> = plan().iter().map(trial).collect();
    let read: Vec<_> = record.trials.iter().map(|(t, _)| t.clone()).collect();
    assert_eq!(read, expected);
    assert_eq!(record.manifest.design, support::experiment_record::design());
    assert_eq!(record.manifest.plan, plan());
    assert_eq!(record.manifest.queue(), support::experiment_record::queue());
    assert_eq!(record.manifest.host.cpu.as_deref(), Some("Test CPU 3000"));
    assert_eq!(record.manifest.host.boot_options.as_deref(), Some("root=/dev/sda1 ro quiet"));
    assert_eq!(record.manifest.workload.jobs[0]["bs"], 8192);
    assert_eq!(record.events.len(), plan().len());
    assert!(record.events.iter().all(|e| e["t_s"].as_f64().is_some_and(|t| (0.0..600.0).contains(&t))));
    assert_eq!(record.trials[4].1["total"]["ios"], 5);
    assert_eq!(record.summary.as_ref().unwrap().ended, Ended::Finished);
    assert_eq!(record.damage, Vec::<String>::new());
    assert_eq!(record.trials[0].1["note"], "a\u{fffd}[2Jb", "text is cleaned");
    for (path, mode) in
        [(place.clone(), 0o700), (place.join("trials.jsonl"), 0o600), (place.join("manifest.json"), 0o600)]
    {
        let found = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(found, mode, "{}", path.display());
    }
}

#[test]
fn a_record_opens_wherever_its_lines_were_cut_off() {
    let dir = tempfile::tempdir().unwrap();
    let place = write(dir.path(), 4, false);
    for file in ["trials.jsonl", "events.jsonl"] {
        let whole = std::fs::read(place.join(file)).unwrap();
        for n in 0..=whole.len() {
            std::fs::write(place.join(file), &whole[..n]).unwrap();
            let record = Record::open(&place).unwrap();
            let left = &whole[..n];
            let ended = left.split_inclusive(|b| *b == b'\n').filter(|l| l.ends_with(b"\n")).count();
            let rest = &left[left.iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1)..];
            // A line that lacks nothing but its end says all that it has to.
            let said = usize::from(serde_json::from_slice::<Value>(rest).is_ok());
            let found = if file == "trials.jsonl" { record.trials.len() } else { record.events.len() };
            assert_eq!(found, ended + said, "{file} cut at {n}");
            assert_eq!(
                record.damage.is_empty(),
                rest.is_empty() || said == 1,
                "{file} cut at {n}: {:?}",
                record.damage
            );
            assert!(record.cut_off());
        }
        std::fs::write(place.join(file), &whole).unwrap();
    }
}

#[test]
fn without_a_whole_manifest_there_is_no_record_and_the_error_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let place = write(dir.path(), 2, true);
    let file = place.join("manifest.json");
    let whole = std::fs::read(&file).unwrap();
    // The last byte is the end of the line, which nobody misses.
    for n in (0..whole.len() - 1).step_by(7) {
        std::fs::write(&file, &whole[..n]).unwrap();
        let e = Record::open(&place).unwrap_err();
        assert!(matches!(e, RecordError::NotARecord { .. }), "cut at {n}: {e}");
        assert!(e.to_string().contains("cut off") && e.to_string().contains("manifest.json"), "{e}");
    }
    std::fs::remove_file(&file).unwrap();
    let e = Record::open(&place).unwrap_err().to_string();
    assert!(e.contains("no such file") && e.contains("no record of an experiment"), "{e}");
}

#[test]
fn a_summary_that_was_cut_off_is_said_and_not_used() {
    let dir = tempfile::tempdir().unwrap();
    let place = write(dir.path(), 2, true);
    let file = place.join("summary.json");
    let whole = std::fs::read(&file).unwrap();
    for n in 0..whole.len() - 1 {
        std::fs::write(&file, &whole[..n]).unwrap();
        let record = Record::open(&place).unwrap();
        assert!(record.cut_off() && record.damage.len() == 1, "cut at {n}: {:?}", record.damage);
    }
}

#[test]
fn what_a_later_version_adds_is_passed_over_and_rubbish_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    let place = write(dir.path(), 2, true);
    let add = |file: &str, text: &str| {
        let path = place.join(file);
        let whole = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, whole.replacen('{', text, 1)).unwrap();
    };
    add("manifest.json", r#"{"weather": {"rain": true},"#);
    add("trials.jsonl", r#"{"mood": 3,"#);
    add("summary.json", r#"{"applause": [1],"#);
    let mut trials = std::fs::OpenOptions::new().append(true).open(place.join("trials.jsonl")).unwrap();
    writeln!(trials, "[]\n{{\"number\": \"x\"}}\n\u{1b}[2J\n{}", "[".repeat(100_000)).unwrap();
    trials.write_all(&vec![b'x'; 5 << 20]).unwrap();
    writeln!(trials).unwrap();
    let record = Record::open(&place).unwrap();
    assert_eq!(record.trials.len(), 2);
    assert!(record.summary.is_some());
    assert_eq!(record.damage, ["trials.jsonl has 5 line(s) that can not be read; they are left out."]);
}

#[test]
fn nothing_is_written_through_links_or_over_what_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let elsewhere = dir.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let link = dir.path().join("link");
    symlink(&elsewhere, &link).unwrap();
    let m = manifest("TESTDISK");
    let e = Writer::create(&link, &m).unwrap_err();
    assert!(matches!(e, RecordError::NotTrusted { .. }), "{e}");
    assert!(files(&elsewhere).is_empty());

    std::fs::write(elsewhere.join("mine"), "keep me").unwrap();
    let e = Writer::create(&elsewhere, &m).unwrap_err();
    assert!(matches!(e, RecordError::NotEmpty(_)) && e.to_string().contains("--resume"), "{e}");
    assert_eq!(files(&elsewhere).len(), 1);

    let open = dir.path().join("open");
    std::fs::create_dir(&open).unwrap();
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o777)).unwrap();
    let e = Writer::create(&open, &m).unwrap_err();
    assert!(e.to_string().contains("others may write to it"), "{e}");

    // A file of a record that was made a link, or a fifo, meanwhile.
    let place = write(dir.path(), 1, false);
    let victim = dir.path().join("victim");
    std::fs::write(&victim, "not yours\n").unwrap();
    std::fs::remove_file(place.join("trials.jsonl")).unwrap();
    symlink(&victim, place.join("trials.jsonl")).unwrap();
    for e in [Writer::resume(&place, &m).map(drop).unwrap_err(), Record::open(&place).map(drop).unwrap_err()]
    {
        assert!(matches!(e, RecordError::NotTrusted { .. }), "{e}");
    }
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "not yours\n");
    std::fs::remove_file(place.join("trials.jsonl")).unwrap();
    assert!(Command::new("mkfifo").arg(place.join("trials.jsonl")).status().unwrap().success());
    let e = Record::open(&place).unwrap_err();
    assert!(e.to_string().contains("not a regular file"), "{e}");
}

#[test]
fn a_link_planted_beside_a_document_is_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("r");
    let victim = dir.path().join("victim");
    std::fs::write(&victim, "not yours\n").unwrap();
    let writer = Writer::create(&place, &manifest("TESTDISK")).unwrap();
    for name in ["summary.json", "summary.json.new"] {
        symlink(&victim, place.join(name)).unwrap();
    }
    writer.finish(&Summary::new(Ended::Stopped, "asked to", 1.0)).unwrap();
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "not yours\n");
    assert_eq!(Record::open(&place).unwrap().summary.unwrap().ended, Ended::Stopped);
}

#[test]
fn only_one_program_writes_to_a_record() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("r");
    let m = manifest("TESTDISK");
    let writer = Writer::create(&place, &m).unwrap();
    let e = Writer::resume(&place, &m).unwrap_err();
    assert!(matches!(e, RecordError::Busy(_)), "{e}");
    drop(writer);
    Writer::resume(&place, &m).unwrap();
}

#[test]
fn a_record_goes_on_after_a_line_that_was_cut_off() {
    let dir = tempfile::tempdir().unwrap();
    let place = write(dir.path(), 3, true);
    let path = place.join("trials.jsonl");
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 20]).unwrap();
    let m = Record::open(&place).unwrap().manifest;
    let mut writer = Writer::resume(&place, &m).unwrap();
    assert!(Record::open(&place).unwrap().cut_off(), "it has not ended any more");
    for planned in &plan()[2..5] {
        writer.trial(&trial(planned), &Value::Null).unwrap();
    }
    drop(writer);
    let record = Record::open(&place).unwrap();
    let numbers: Vec<u32> = record.trials.iter().map(|(t, _)| t.plan.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
    assert_eq!(record.damage.len(), 1, "the cut line is still said: {:?}", record.damage);
}

#[test]
fn events_wait_for_the_trial_where_the_record_lies_on_the_device() {
    let dir = tempfile::tempdir().unwrap();
    for on_device in [None, Some("this record lies on sdx, which is measured".to_owned())] {
        let place = dir.path().join(if on_device.is_some() { "on" } else { "off" });
        let waits = on_device.is_some();
        let mut m = manifest("TESTDISK");
        m.on_device = on_device;
        let mut writer = Writer::create(&place, &m).unwrap();
        writer.event(&"settled").unwrap();
        let size = || std::fs::metadata(place.join("events.jsonl")).unwrap().len();
        assert_eq!(size() == 0, waits);
        writer.trial(&trial(&plan()[0]), &Value::Null).unwrap();
        assert!(size() > 0);
        writer.event(&"stopped").unwrap();
        drop(writer);
        let events = Record::open(&place).unwrap().events;
        assert_eq!(events.iter().map(|e| e["event"].clone()).collect::<Vec<_>>(), ["settled", "stopped"]);
    }
}

/// Not a test of its own: what the next one kills.
#[test]
fn a_child_writes_until_it_is_killed() {
    let Some(place) = std::env::var_os(PLACE) else { return };
    let mut writer = Writer::create(Path::new(&place), &manifest("TESTDISK")).unwrap();
    for planned in plan().iter().cycle() {
        writer.event(&json!({"number": planned.number})).unwrap();
        writer.trial(&trial(planned), &json!({"filling": "x".repeat(20_000)})).unwrap();
    }
}

#[test]
fn a_writer_that_is_killed_leaves_a_record() {
    let dir = tempfile::tempdir().unwrap();
    let mut most = 0;
    for i in 0..8_u64 {
        let place = dir.path().join(i.to_string());
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_child_writes_until_it_is_killed"])
            .env(PLACE, &place)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let began = Instant::now();
        while !place.join("manifest.json").exists() {
            assert!(began.elapsed() < Duration::from_secs(30), "the child does not begin");
            std::thread::sleep(Duration::from_millis(1));
        }
        // The first is killed as soon as it begins, the others once they have written something, at any moment.
        let trials = place.join("trials.jsonl");
        while i > 0 && trials.metadata().map_or(0, |m| m.len()) == 0 {
            assert!(began.elapsed() < Duration::from_secs(30), "the child writes no trial");
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(i * 7));
        child.kill().unwrap();
        child.wait().unwrap();
        let record = Record::open(&place).unwrap();
        assert!(record.cut_off());
        let written = std::fs::read(place.join("trials.jsonl")).unwrap();
        assert_eq!(record.trials.len(), written.split(|b| *b == b'\n').count() - 1);
        for ((read, _), planned) in record.trials.iter().zip(plan().iter().cycle()) {
            assert_eq!(*read, trial(planned));
        }
        most = most.max(record.trials.len());
    }
    assert!(most > 0, "none lived long enough to write a trial");
}

#[test]
fn going_on_asks_for_the_same_question_device_and_kernel() {
    let then = manifest("TESTDISK");
    assert!(differences(&then, &then).is_empty());
    let grave = |change: &dyn Fn(&mut blktune::record::manifest::Manifest)| {
        let mut now = then.clone();
        change(&mut now);
        let found = differences(&then, &now);
        assert!(!found.is_empty());
        (found.iter().any(|d| d.grave), found[0].to_string())
    };
    assert_eq!(
        grave(&|m| m.device.model = Some("OTHER".to_owned())),
        (true, "model: TESTDISK in the record, OTHER now".to_owned())
    );
    assert!(grave(&|m| m.design.seed = 1).0);
    assert!(grave(&|m| m.device.size_bytes += 512).0);
    assert!(grave(&|m| m.device.diskseq = Some(9)).0, "another device in the same boot");
    assert_eq!(
        grave(&|m| m.host.kernel = Some("6.99".to_owned())).1,
        format!("kernel: {} in the record, 6.99 now", then.host.kernel.clone().unwrap())
    );
    assert!(grave(&|m| m.settings.get_mut("nr_requests").unwrap().value = Some("2".to_owned())).0);
    assert!(!grave(&|m| "blktune 9".clone_into(&mut m.program)).0, "said, but no obstacle");
    // After a reboot numbers are given anew; a serial number tells the device.
    let mut then = then.clone();
    then.device.serial = Some("S1".to_owned());
    let mut now = then.clone();
    now.host.boot_id = Some("another".to_owned());
    now.device.name = "sdy".to_owned();
    now.device.diskseq = Some(77);
    assert!(differences(&then, &now).iter().all(|d| !d.grave));
    now.device.serial = Some("S2".to_owned());
    assert!(differences(&then, &now)[0].grave);
}

#[test]
fn a_new_record_takes_a_name_that_is_free() {
    let state = tempfile::tempdir().unwrap();
    let name = KernelName::new("cciss/c0d0").unwrap();
    let first = place::new_place(state.path(), "20261202-1020", &name).unwrap();
    assert_eq!(first, state.path().join("experiments/20261202-1020-cciss!c0d0"));
    Writer::create(&first, &manifest("TESTDISK")).unwrap();
    let second = place::new_place(state.path(), "20261202-1020", &name).unwrap();
    assert_eq!(second, state.path().join("experiments/20261202-1020-cciss!c0d0-2"));
}

#[test]
fn a_record_beside_the_file_of_the_loop_device_that_is_measured_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let root = blktune::sys::root::SysRoot::host();
    let file = dir.path().join("disk.img");
    std::fs::write(&file, "").unwrap();
    let mut device = device("TESTDISK");
    let place = dir.path().join("not/there/yet");
    assert_eq!(place::on_device(&root, &place, &device), None);
    device.backing_file = Some(file.to_string_lossy().into_owned());
    let said = place::on_device(&root, &place, &device).unwrap();
    assert!(said.contains("the file behind sdx"), "{said}");
}

/// One of each event. A new one does not compile here until it is added, and then has to be documented.
fn every_event() -> Vec<Event> {
    let text = || "x".to_owned();
    let of_kind = |kind: &Event| match kind {
        Event::Began { .. } => Event::TrialStarted { plan: plan().remove(0) },
        Event::TrialStarted { .. } => Event::Phase { phase: Phase::Draining },
        Event::Phase { phase: Phase::Draining } => Event::Phase { phase: Phase::Applying },
        Event::Phase { phase: Phase::Applying } => Event::Phase { phase: Phase::Settling },
        Event::Phase { phase: Phase::Settling } => Event::Phase { phase: Phase::Measuring },
        Event::Phase { phase: Phase::Measuring } => Event::Phase { phase: Phase::PuttingBack },
        Event::Phase { phase: Phase::PuttingBack } => {
            Event::TrialDone { trial: trial(&plan()[0]), detail: Value::Null }
        }
        Event::TrialDone { .. } => Event::Preconditioned { rounds: 5, steady: true },
        Event::Preconditioned { .. } => Event::BlockVoid { block: 1, attempt: 1, reason: text(), left: 2 },
        Event::BlockVoid { .. } => Event::Look { blocks: 6, decided: true, last: false },
        Event::Look { .. } => Event::PutBack { not_restored: Vec::new() },
        Event::PutBack { .. } => Event::Ended { ending: Ending::Decided, reason: text() },
        Event::Ended { ending, .. } => {
            let next = match ending {
                Ending::Decided => Ending::Finished,
                Ending::Finished => Ending::Stopped,
                Ending::Stopped => Ending::Invalid,
                Ending::Invalid => Ending::Refused,
                Ending::Refused => Ending::Gone,
                Ending::Gone | Ending::Broken => Ending::Broken,
            };
            Event::Ended { ending: next, reason: text() }
        }
    };
    let mut all = vec![Event::Began { settings: BTreeMap::new(), resumed: 0 }];
    loop {
        let next = of_kind(&all[all.len() - 1]);
        if all.contains(&next) {
            return all;
        }
        all.push(next);
    }
}

#[test]
fn every_event_is_documented_with_its_fields() {
    let docs = std::fs::read_to_string("docs/json.md").unwrap();
    let section = docs.split("### Events").nth(1).unwrap();
    let rows: Vec<Vec<&str>> = section
        .lines()
        .filter(|l| l.starts_with("| `"))
        .map(|l| l.split('|').map(str::trim).collect())
        .collect();
    let mut seen = std::collections::BTreeSet::new();
    for event in every_event() {
        let json = serde_json::to_value(&event).unwrap();
        let tag = json["event"].as_str().unwrap().to_owned();
        let row = rows.iter().find(|r| r[1] == format!("`{tag}`")).unwrap_or_else(|| panic!("{tag}"));
        let mut fields: Vec<String> =
            json.as_object().unwrap().keys().filter(|k| *k != "event").map(|k| format!("`{k}`")).collect();
        let mut documented: Vec<&str> = row[2].split(", ").collect();
        documented.sort_unstable();
        fields.sort_unstable();
        assert_eq!(documented, fields, "{tag}");
        // What a word can be, and what a trial that is planned has.
        let words = ["phase", "ending"].map(|k| json[k].as_str().map(str::to_owned)).into_iter().flatten();
        let planned =
            json["plan"].as_object().map(|p| p.keys().cloned().collect::<Vec<_>>()).unwrap_or_default();
        for word in words.chain(planned) {
            assert!(row[3].contains(&format!("`{word}`")), "{tag}: {word}");
        }
        let read: Event = serde_json::from_value(json).unwrap();
        assert_eq!(read, event);
        seen.insert(tag);
    }
    assert_eq!(rows.iter().filter(|r| r[1] != "`event`").count(), seen.len(), "what is documented is there");
}

#[test]
fn reading_is_the_same_whoever_reads() {
    let dir = tempfile::tempdir().unwrap();
    let place = write(dir.path(), 5, true);
    let before = files(&place);
    let link = dir.path().join("link");
    symlink(&place, &link).unwrap();
    let (a, b) = (reader::Record::open(&place).unwrap(), reader::Record::open(&link).unwrap());
    assert_eq!(a.trials, b.trials);
    assert_eq!(files(&place), before, "reading changes nothing");
}

#[test]
fn what_has_ended_and_what_builds_on_the_trial_before_is_not_gone_on_with() {
    let resume = |place: &Path| {
        let output = Command::new(env!("CARGO_BIN_EXE_blktune"))
            .args(["ab", "--resume", place.to_str().unwrap()])
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let dir = tempfile::tempdir().unwrap();
    let (code, said) = resume(&write(dir.path(), 8, true));
    assert!(code == Some(2) && said.contains("never extended"), "{code:?}: {said}");
    let mut manifest = manifest("TESTDISK 480G");
    manifest.design.isolation = Isolation::Sequence;
    let place = dir.path().join("records/sequence");
    drop(Writer::create(&place, &manifest).unwrap());
    let (code, said) = resume(&place);
    assert!(code == Some(2) && said.contains("bare writes in sequence can not go on"), "{code:?}: {said}");
}
