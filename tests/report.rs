//! Reports of records: whole, cut off, and made by somebody who means harm.

// Functions beside the tests are parts of tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use blktune::experiment::asked::{Asked, design};
use blktune::experiment::design::{Blocks, Design, Isolation};
use blktune::experiment::event::{Ending, Event};
use blktune::experiment::metric::Metric;
use blktune::experiment::trial::Trial;
use blktune::record::manifest::Manifest;
use blktune::record::reader::Record;
use blktune::record::summary::{Ended, Summary};
use blktune::record::writer::Writer;
use blktune::report::Report;
use blktune::sys::name::KernelName;
use blktune::sys::queue::QueueState;
use proptest::prelude::*;
use serde_json::{Value, json};
use support::blktune;
use support::chance::{Sought, until_seen};
use support::experiment_record::{files, manifest, plan, trial, void};

const SENTENCE: &str =
    "mq-deadline is faster by at least 3 %: +5.0 % (95 % CI +4.8…+5.2 %, 6 blocks). Order effect: none seen.";

/// What an analysis might say of the trials.
fn analysis() -> Value {
    json!({
        "cells": [{"name": "none", "levels": ["none"], "trials": 12, "bytes_per_s": 81_920_000.0,
                   "figures": [{"metric": "iops", "mean": 10_000.0, "min": 9980.0, "max": 10_020.0}]}],
        "comparisons": [{
            "baseline": "none", "candidate": "mq-deadline", "metric": "iops", "primary": true, "more_is_better": true,
            "blocks": 6, "ratio": 1.05, "ci": [1.048, 1.052], "confidence": 0.95, "ci_equivalence": [1.0485, 1.0515],
            "p": 0.000_012, "p_adjusted": null, "verdict": "better", "at_least_margin": true, "measurable": false,
            "identical": false, "look": 6, "last_look": true, "alpha": 0.05, "carryover_against": null,
            "new_experiment_blocks": null, "hodges_lehmann": null, "wilcoxon_p": 0.03125, "bca": null,
            "typical_and_mean_disagree": false, "d": [0.05], "unblocked": null, "sentence": SENTENCE,
        }],
        "order": {"light": "green", "carryover": 0.0, "carryover_ci": [-0.01, 0.01], "carryover_p": 0.9,
                  "order_difference": null, "drift_per_trial": 0.0, "drift_total": 0.0, "neighbours_alike": null,
                  "latched": false, "returned": null, "returned_ci": null, "returned_drift": null, "lead_ins": true,
                  "candidate": "mq-deadline", "text": "none seen"},
        "margin": 0.03, "complete_blocks": 6, "next_look": null, "interim": false, "trade_offs": [], "warnings": [],
        "trials": [],
    })
}

fn write(dir: &Path, manifest: &Manifest, ended: bool) -> PathBuf {
    let place = dir.join("record");
    let mut writer = Writer::create(&place, manifest).unwrap();
    for p in &plan() {
        let t = if p.number == 9 {
            void(p, "scheduler changed to bfq during trial 9 | by somebody")
        } else {
            trial(p)
        };
        writer.trial(&t, &json!({"total": {"ios": t.ios}})).unwrap();
    }
    if ended {
        let mut summary = Summary::new(Ended::Finished, "all blocks were run", 371.0);
        summary.restored = Some(true);
        summary.analysis = Some(serde_json::from_value(analysis()).unwrap());
        writer.finish(&summary).unwrap();
    }
    place
}

fn report(place: &Path, more: &[&str]) -> String {
    let (mut command, _home) = blktune();
    let out = command.arg("report").arg(place).args(more).assert().success();
    String::from_utf8(out.get_output().stdout.clone()).unwrap()
}

fn fails(args: &[&str], code: i32) -> String {
    let (mut command, _home) = blktune();
    let out = command.arg("report").args(args).assert().code(code);
    String::from_utf8(out.get_output().stderr.clone()).unwrap()
}

#[test]
fn a_report_says_all_that_the_verdict_rests_on() {
    let dir = tempfile::tempdir().unwrap();
    let place = write(dir.path(), &manifest("TESTDISK 480G"), true);
    let text = report(&place, &[]);
    let first: Vec<&str> = text.lines().filter(|l| !l.is_empty()).take(4).collect();
    assert_eq!(first[0], "# sdx: none against mq-deadline");
    assert_eq!(first[1], format!("**{SENTENCE}**"));
    assert!(
        first[2].starts_with("One experiment: nothing can confirm it, since the device has no id"),
        "{}",
        first[2]
    );
    assert_eq!(first[3], "It ended after 371 s, finished: all blocks were run.");
    for part in [
        "| scheduler | setting of the queue | none, mq-deadline |",
        "| iops | mq-deadline | 1.0500 | 1.0480 to 1.0520 (95.0 %) | 1.20e-5 | 6 | better |",
        "| model | TESTDISK 480G |",
        "| size | 480 GiB |",
        "Test CPU 3000",
        "root=/dev/sda1 ro quiet",
        "| **scheduler** | mq-deadline | **none** | **mq-deadline** |",
        "| read_ahead_kb | 128 | as found | as found |",
        "| wbt_lat_usec | not readable | as found | as found |",
        "randread-4k with bs=8k, on the device itself.",
        "It is not for the most reads a device can do",
        "randread bs 8.00 KiB",
        "- One program, one pattern: other workloads may answer otherwise.",
        "32 were planned, 32 were run.",
        "void, G1: scheduler changed to bfq during trial 9 \\| by somebody |",
        "| 1 | 0.0 s | baseline before | as found | - | - | 1 |",
        "All settings were put back.",
        "    blktune ab sdx --factor scheduler=none,mq-deadline --job randread-4k --set bs=8k --metric iops --margin 3% --trial 8s --ramp 2s --settle 1s --blocks 6 --seed 7261\n",
    ] {
        assert!(text.contains(part), "{part}\n---\n{text}");
    }
    let low = text.to_lowercase();
    for never in ["significant", "no difference", "best of"] {
        assert!(!low.contains(never), "{never}");
    }
    // Every row of a table has the cells of its head, whatever is in it.
    let bars = |l: &str| l.replace("\\|", "").matches('|').count();
    let mut width = None;
    for l in text.lines() {
        width = if l.starts_with('|') { width.or(Some(bars(l))) } else { None };
        assert!(width.is_none_or(|w| w == bars(l)), "{l}");
    }
}

#[test]
fn json_holds_the_whole_record() {
    let dir = tempfile::tempdir().unwrap();
    let place = write(dir.path(), &manifest("TESTDISK 480G"), true);
    let document: Value = serde_json::from_str(&report(&place, &["--format", "json"])).unwrap();
    let record = Record::open(&place).unwrap();
    assert_eq!(document["schema"], "blktune.report/1");
    assert_eq!(document["cut_off"], false);
    assert_eq!(serde_json::from_value::<Manifest>(document["manifest"].clone()).unwrap(), record.manifest);
    let trials: Vec<Trial> = serde_json::from_value(document["trials"].clone()).unwrap();
    assert_eq!(trials, record.trials.iter().map(|(t, _)| t.clone()).collect::<Vec<_>>());
    assert_eq!(document["trials"][8]["void"], true);
    assert_eq!(document["trials"][0]["detail"], record.trials[0].1);
    assert_eq!(
        document["gates"],
        json!([{"trial": 9, "gate": "G1", "voids": true,
        "text": "scheduler changed to bfq during trial 9 | by somebody"}])
    );
    assert_eq!(document["analysis"]["comparisons"][0]["verdict"], "better");
    let summary: Summary = serde_json::from_value(document["summary"].clone()).unwrap();
    assert_eq!(Some(summary), record.summary);
    // Every documented field is there, and every field is documented.
    let docs = std::fs::read_to_string("docs/json.md").unwrap();
    let section = docs.split("## `report --format json`").nth(1).unwrap();
    for key in document.as_object().unwrap().keys().filter(|k| *k != "schema") {
        assert!(section.contains(&format!("`{key}`")) || section.contains(&format!("`{key}[]`")), "{key}");
    }
}

/// A record of the first trials of an experiment that was killed.
fn killed(dir: &Path, trials: usize) -> PathBuf {
    let place = dir.join("record");
    let mut writer = Writer::create(&place, &manifest("TESTDISK")).unwrap();
    for p in plan().iter().take(trials) {
        writer.event(&Event::TrialStarted { plan: p.clone() }).unwrap();
        writer.trial(&trial(p), &json!({"total": {"ios": 1}})).unwrap();
    }
    place
}

fn cut(file: &Path, left: usize) {
    std::fs::OpenOptions::new().write(true).open(file).unwrap().set_len(left as u64).unwrap();
}

#[test]
fn a_record_that_was_cut_off_says_so_first_and_is_judged_by_what_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let place = killed(dir.path(), 32);
    let trials = place.join("trials.jsonl");
    cut(&trials, std::fs::read(&trials).unwrap().len() - 9);
    let text = report(&place, &[]);
    let head: Vec<&str> = text.lines().filter(|l| !l.is_empty()).take(5).collect();
    assert!(head[1].contains("cut off") && head[1].contains("31 of 32"), "{head:?}");
    assert!(head[2].contains("The last line of trials.jsonl was cut off"), "{head:?}");
    assert!(head[3].starts_with("**mq-deadline is faster by at least 3 %: +5.0 % (95 % CI "), "{head:?}");
    assert!(head[4].contains("judged from the trials that are"), "{head:?}");
    assert!(text.contains("blktune restore"), "what may still be held is said");
    let document: Value = serde_json::from_str(&report(&place, &["--format", "json"])).unwrap();
    assert_eq!((document["cut_off"].clone(), document["summary"].clone()), (json!(true), Value::Null));
    assert_eq!((document["judged_now"].clone(), document["no_verdict"].clone()), (json!(true), Value::Null));
    assert_eq!(document["analysis"]["comparisons"][0]["verdict"], "better");
}

#[test]
fn an_end_that_was_told_counts_without_the_summary() {
    let dir = tempfile::tempdir().unwrap();
    let place = killed(dir.path(), 20);
    for (ending, reason, said) in [
        (
            Ending::Stopped,
            "stopped after 3 valid blocks",
            "Preliminary (3 of 6 blocks); stopped by the user.",
        ),
        (Ending::Gone, "sdx is gone", "Preliminary (3 of 6 blocks); it could not go on."),
        (Ending::Invalid, "failures follow one cell", "Not valid: failures follow one cell."),
    ] {
        let event = Event::Ended { ending, reason: reason.to_owned() };
        Writer::resume(&place, &manifest("TESTDISK")).unwrap().event(&event).unwrap();
        let text = report(&place, &[]);
        assert!(text.contains(&format!("**{said}**")), "{said}\n{text}");
    }
    // It went on after that, and was killed.
    let began = Event::Began { settings: BTreeMap::new(), resumed: 20 };
    Writer::resume(&place, &manifest("TESTDISK")).unwrap().event(&began).unwrap();
    assert!(report(&place, &[]).contains("**Preliminary (3 of 6 blocks); the record was cut off.**"));
}

#[test]
fn what_can_not_be_judged_is_reported_without_a_verdict() {
    let dir = tempfile::tempdir().unwrap();
    let place = killed(dir.path(), 12);
    let trials = place.join("trials.jsonl");
    let whole = std::fs::read_to_string(&trials).unwrap();
    for (text, why) in [
        (String::new(), "no trial is in this record"),
        (format!("{whole}{whole}"), "the trials of this record are not in the order of time"),
    ] {
        std::fs::write(&trials, text).unwrap();
        assert!(report(&place, &[]).contains(&format!("**No verdict: {why}.**")), "{why}");
        let document: Value = serde_json::from_str(&report(&place, &["--format", "json"])).unwrap();
        assert_eq!((document["no_verdict"].clone(), document["analysis"].clone()), (json!(why), Value::Null));
    }
}

/// How many of the six blocks are whole in so many trials of the plan.
fn whole_blocks(trials: usize) -> usize {
    plan().iter().take(trials).filter(|p| p.position == Some(4)).count()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_record_cut_at_any_byte_is_reported(trials in 0.0..=1.0_f64, events in 0.0..=1.0_f64) {
        let dir = tempfile::tempdir().unwrap();
        let place = killed(dir.path(), 32);
        for (file, share) in [("trials.jsonl", trials), ("events.jsonl", events)] {
            let path = place.join(file);
            let length = std::fs::read(&path).unwrap().len();
            #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // some thousands
            cut(&path, (length as f64 * share) as usize);
        }
        let record = Record::open(&place).unwrap();
        let text = Report::of(&record, &[]).markdown();
        let blocks = whole_blocks(record.trials.len());
        let said = match blocks {
            _ if record.trials.is_empty() => "**No verdict: no trial is in this record.**".to_owned(),
            6 => "**mq-deadline is faster by at least 3 %: +5.0 % (95 % CI ".to_owned(),
            n => format!("**Preliminary ({n} of 6 blocks); the record was cut off.**"),
        };
        prop_assert!(text.contains(&said), "{said}\n{text}");
        prop_assert!(text.contains("This record has no end"));
        serde_json::to_string(&Report::of(&record, &[]).document()).unwrap();
    }
}

#[test]
fn text_of_a_device_can_neither_reach_the_terminal_nor_break_the_page() {
    let dir = tempfile::tempdir().unwrap();
    let place = write(dir.path(), &manifest("DISK"), true);
    let file = place.join("manifest.json");
    let evil = r"A\u001b]0;x\u0007|<script>`**\n# heading\u202e[a](http://b)";
    let text = std::fs::read_to_string(&file).unwrap().replace("\"DISK\"", &format!("\"{evil}\""));
    std::fs::write(&file, text).unwrap();
    for format in ["md", "json"] {
        let text = report(&place, &["--format", format]);
        assert!(!text.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'), "{format}");
    }
    let text = report(&place, &[]);
    let row = text.lines().find(|l| l.starts_with("| model |")).unwrap();
    assert!(row.contains(r"\|\<script\>\`\*\* \# heading") && row.ends_with("(http://b) |"), "{row}");
}

/// A record with this text wherever a device, a kernel, a file or a person has a say.
fn with_text(dir: &Path, s: &str) -> PathBuf {
    let place = dir.join("record");
    let text = || s.to_owned();
    let mut m = manifest(s);
    let device = &mut m.device;
    (device.name, device.kind, device.kind_evidence) = (text(), text(), text());
    (device.serial, device.wwid, device.devnum, device.backing_file) =
        (Some(text()), Some(text()), Some(text()), Some(text()));
    device.built_on = vec![text()];
    let host = &mut m.host;
    (host.kernel, host.build, host.machine, host.boot_options) =
        (Some(text()), Some(text()), Some(text()), Some(text()));
    (host.boot_id, host.cpu) = (Some(text()), Some(text()));
    (m.program, m.started, m.on_device) = (text(), text(), Some(text()));
    let workload = &mut m.workload;
    (workload.preset, workload.question, workload.not_for, workload.target) =
        (text(), Some(text()), Some(text()), Some(text()));
    (workload.set, workload.words, workload.jobs) = (vec![text()], vec![text()], vec![json!({"name": s})]);
    m.notes = vec![text()];
    let nr_requests = m.settings.remove("nr_requests").unwrap();
    // Last by name, whatever it is.
    m.settings.insert(format!("zz{s}"), nr_requests);
    m.settings.get_mut("read_ahead_kb").unwrap().value = Some(text());
    for cell in &mut m.design.cells {
        (cell.name, cell.levels) = (text(), vec![text()]);
    }
    m.design.factors[0].levels = vec![text()];
    m.design.workload.preset = text();
    m.design.target = Some(s.into());
    let mut writer = Writer::create(&place, &m).unwrap();
    for p in plan().iter().take(8) {
        let mut t = if p.number == 5 { void(p, s) } else { trial(p) };
        t.warnings = vec![text()];
        writer.trial(&t, &Value::Null).unwrap();
    }
    let mut summary = Summary::new(Ended::Stopped, s, 371.0);
    summary.not_restored = vec![text()];
    let mut said = analysis();
    for at in ["/comparisons/0/sentence", "/comparisons/0/candidate", "/cells/0/name", "/order/text"] {
        *said.pointer_mut(at).unwrap() = json!(s);
    }
    (said["warnings"], said["trade_offs"]) = (json!([s]), json!([s]));
    summary.analysis = Some(serde_json::from_value(said).unwrap());
    writer.finish(&summary).unwrap();
    place
}

/// What a page is made of, without its words.
fn structure(page: &str) -> Vec<String> {
    use pulldown_cmark::{Event, Options, Parser};
    // What pages are commonly shown with, beside the core.
    let known = Options::ENABLE_GFM
        | Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_MATH;
    let parts = Parser::new_ext(page, known).filter_map(|e| match e {
        Event::Text(_) | Event::SoftBreak => None,
        // A code span, HTML or a formula is never ours.
        Event::Start(tag) => Some(format!("{tag:?}")),
        other => Some(format!("{other:?}")),
    });
    parts.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_device_is_called_the_page_is_made_of_the_same(
        text in prop_oneof![
            "[-a-z0-9 |`*_~<>&#\\[\\]()!$^:;=+.\\\\\"'\n]{1,30}",
            "(- |\\+ |1\\. |1\\) |# |> |    |---|===|```|\\||\\\\|<b>|&lt;|\\*|_|\\[x\\]\\(y\\)|!\\[x\\]|\\[\\^1\\]:|\\[ \\] |~~|\\$|:a:|<!--|\n){1,6}",
            "\\PC{1,20}",
        ],
    ) {
        // What is nothing but white space is no name.
        prop_assume!(!blktune::sys::attr::clean(text.as_bytes()).trim().is_empty());
        let page = |s: &str| {
            let dir = tempfile::tempdir().unwrap();
            let record = Record::open(&with_text(dir.path(), s)).unwrap();
            Report::of(&record, &[]).markdown()
        };
        let (evil, plain) = (page(&text), page("x"));
        prop_assert_eq!(structure(&evil), structure(&plain), "{}", evil);
        // And all of the words are there to be read.
        let model = evil.lines().find(|l| l.starts_with("| model |")).unwrap();
        let shown: String = pulldown_cmark::Parser::new(&model.replace("| model |", "m"))
            .filter_map(|e| if let pulldown_cmark::Event::Text(t) = e { Some(t.into_string()) } else { None })
            .collect();
        let clean = blktune::sys::attr::clean(text.as_bytes());
        prop_assert_eq!(shown.trim_start_matches('m').trim_end_matches('|').trim(), clean.trim());
    }
}

#[test]
fn a_command_that_repeats_it_is_one_that_a_shell_takes() {
    let dir = tempfile::tempdir().unwrap();
    let mut m = manifest("DISK");
    m.design.target = Some("/srv/it's $(rm) here".into());
    m.design.margin = 0.07;
    m.design.lead_ins = false;
    let place = write(dir.path(), &m, true);
    let text = report(&place, &[]);
    let line = text.lines().find(|l| l.starts_with("    blktune ab")).unwrap();
    let shell = format!("set -- {}; printf '%s\\n' \"$@\"", line.trim());
    let out = Command::new("sh").args(["-c", &shell]).output().unwrap();
    let words = String::from_utf8(out.stdout).unwrap();
    for word in ["/srv/it's $(rm) here", "7%", "--no-lead-in", "scheduler=none,mq-deadline"] {
        assert!(words.lines().any(|l| l == word), "{word}: {words}");
    }
}

#[test]
fn what_was_asked_on_a_sandbox_is_repeated_on_a_new_one() {
    let dir = tempfile::tempdir().unwrap();
    let mut m = manifest("DISK");
    m.command =
        ["ab", "--sandbox=256M", "--factor", "scheduler=none,mq-deadline"].map(str::to_owned).to_vec();
    let text = report(&write(dir.path(), &m, true), &[]);
    assert!(
        text.contains("    blktune ab --sandbox=256M --factor scheduler=none,mq-deadline --job"),
        "{text}"
    );
}

/// What can be asked, likely and unlikely.
fn asked() -> impl Strategy<Value = Asked> {
    let one_of = |all: &'static [&'static str]| proptest::sample::select(all).prop_map(str::to_owned);
    let factor = one_of(&[
        "scheduler=none,bfq",
        "scheduler=mq-deadline",
        "read_ahead_kb=128, 4096",
        "write_cache=write back,write through",
        "slice_idle=0,8",
        "iosched/low_latency=0,1",
        "bs=4k,64KiB",
        "iodepth=1,32",
        "nr_requests=32",
        "rate_iops=100,200",
    ]);
    let set = one_of(&["bs=8k", "size=64m", "limits_ms=1,10", "numjobs=2", "thinktime=1ms"]);
    let time = |ms: std::ops::Range<u64>| {
        let of =
            |(ms, ns): (u64, Option<u64>)| Duration::from_millis(ms) + Duration::from_nanos(ns.unwrap_or(0));
        proptest::option::of((ms, proptest::option::of(0..1_000_000_u64)).prop_map(of))
    };
    let target =
        proptest::option::of(prop_oneof!["-{1,2}[a-z]{1,5}", "[^\\p{C}]{1,12}", "/[a-z'\" $()]{1,12}"]);
    let margin = proptest::option::of((50_u32..5000, 0_i32..4).prop_map(|(p, d)| {
        // As the command line reads a percentage.
        (f64::from(p) / 10_f64.powi(d)).clamp(0.5, 50.0) / 100.0
    }));
    let blocks = prop_oneof![Just(Blocks::Adaptive), (3..50_usize).prop_map(|n| Blocks::Fixed(n * 2))];
    let isolation =
        prop_oneof![Just(Isolation::Isolated), Just(Isolation::SideEffects), Just(Isolation::Sequence)];
    let metric = proptest::option::of(proptest::sample::select(&Metric::ALL[..]));
    (
        (
            proptest::collection::vec(factor, 0..3),
            one_of(&["randread-4k", "seqread-1m", "readers-vs-writer"]),
        ),
        (proptest::collection::vec(set, 0..3), target, metric, margin, any::<u64>()),
        (time(3000..9000), time(0..60_000), time(0..60_000), blocks, isolation),
        (any::<bool>(), any::<bool>(), any::<bool>()),
    )
        .prop_map(
            |((factors, job), (set, target, metric, margin, seed), times, (lead_ins, control, calibrate))| {
                let (trial, ramp, settle, blocks, isolation) = times;
                let target = target.map(std::path::PathBuf::from);
                let together = factors.len() > 1;
                let more = Asked::new("vdb", &job, seed);
                Asked {
                    target,
                    factors,
                    together,
                    set,
                    metric,
                    margin,
                    trial,
                    ramp,
                    settle,
                    blocks,
                    lead_ins,
                    isolation,
                    control,
                    calibrate,
                    ..more
                }
            },
        )
}

/// What a shell and the program make of the command that repeats it is the very design.
#[test]
fn a_repeated_command_asks_the_same_to_the_last_digit() {
    let tree = support::fixtures::sysroot("linux-6.12-qemu");
    let state = QueueState::read(&tree.root, &KernelName::new("vdb").unwrap());
    let (two, calibrated, seen) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let sought: &[Sought<'_>] =
        &[(&seen, 20, "designs"), (&two, 2, "two factors together"), (&calibrated, 3, "calibrations")];
    let home = tempfile::tempdir().unwrap();
    let base = manifest("DISK");
    until_seen(32, file!(), &asked(), sought, |asked| {
        let Ok(designed) = design(&asked, &state) else { return Ok(()) };
        let count = |counter: &Cell<u32>, of: bool| counter.set(counter.get() + u32::from(of));
        count(&seen, true);
        count(&two, designed.design.factors.len() == 2);
        count(&calibrated, designed.design.calibration);
        let manifest = Manifest { design: designed.design.clone(), command: Vec::new(), ..base.clone() };
        let dir = tempfile::tempdir().unwrap();
        drop(Writer::create(&dir.path().join("r"), &manifest).unwrap());
        let record = Record::open(&dir.path().join("r")).unwrap();
        let command = Report::of(&record, &[]).command();
        let rest = command.strip_prefix("blktune ").unwrap();
        let out = Command::new("sh")
            .args(["-c", &format!("\"$PROGRAM\" --sysroot \"$TREE\" {rest} --plan --json")])
            .env("PROGRAM", assert_cmd::cargo::cargo_bin!("blktune"))
            .env("TREE", tree.path())
            .env("HOME", home.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&out.stderr);
        prop_assert!(out.status.success(), "{command}: {said}");
        let document: Value = serde_json::from_slice(&out.stdout).unwrap();
        let again: Design = serde_json::from_value(document["design"].clone()).unwrap();
        prop_assert_eq!(again, designed.design, "{}", command);
        Ok(())
    });
}

#[test]
fn it_goes_to_a_new_file_and_over_none_that_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let place = write(dir.path(), &manifest("DISK"), true);
    let before = files(&place);
    let out = dir.path().join("report.md");
    let args = [place.to_str().unwrap(), "-o", out.to_str().unwrap()];
    assert_eq!(report(&place, &args[1..]), "");
    assert_eq!(std::fs::read_to_string(&out).unwrap(), report(&place, &[]));
    assert!(fails(&args, 2).contains("is there already"));
    assert_eq!(files(&place), before);
}

#[test]
fn what_is_no_record_is_said() {
    let dir = tempfile::tempdir().unwrap();
    assert!(fails(&[dir.path().to_str().unwrap()], 2).contains("no record of an experiment"));
    assert!(fails(&["/not/there"], 2).contains("/not/there"));
    assert!(fails(&[dir.path().to_str().unwrap(), "--format", "svg"], 2).contains("md, json"));
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let dir = tempfile::tempdir().unwrap();
    let mut m = manifest("DISK");
    // More than a pipe holds.
    m.notes = vec!["x".repeat(500); 2000];
    let place = write(dir.path(), &m, true);
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("blktune"))
        .arg("report")
        .arg(&place)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 16];
    let mut out = child.stdout.take().unwrap();
    out.read_exact(&mut first).unwrap();
    drop(out);
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success() && ended.stderr.is_empty(), "{ended:?}");
}
