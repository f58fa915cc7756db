//! `blktune set` and `undo` as a script meets them: documents, words and exit codes.
//!
//! The journal is the host's, so every undo names its device.

use serde_json::Value;

use super::support::fixtures::sysroot;
use super::support::{blktune, loop_device};

/// Exit code, the document on stdout (null if there is none), stderr.
fn run(args: &[&str]) -> (i32, Value, String) {
    let (mut command, _home) = blktune();
    let output = command.args(args).output().unwrap();
    let document = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output.status.code().unwrap(), document, String::from_utf8(output.stderr).unwrap())
}

/// What a person reads on stdout.
fn said(args: &[&str]) -> String {
    let (mut command, _home) = blktune();
    String::from_utf8(command.args(args).output().unwrap().stdout).unwrap()
}

#[test]
fn a_script_reads_outcome_and_side_effects_and_undo_takes_both_back() {
    let Some(d) = loop_device(4) else { return };
    let name = d.kernel();
    d.put("rotational", "0");
    d.put("read_ahead_kb", "64");
    let requests = d.get("nr_requests");
    let (code, j, _) = run(&["set", &name, "rotational=1", "scheduler=mq-deadline", "--json"]);
    assert_eq!(
        (code, j["schema"].as_str(), j["rolled_back"].as_bool()),
        (0, Some("blktune.set/1"), Some(false))
    );
    let first = &j["changes"][0];
    assert_eq!((first["device"].as_str(), first["name"].as_str()), (Some(name.as_str()), Some("rotational")));
    assert_eq!((first["before"].as_str(), first["effective"].as_str()), (Some("0"), Some("1")));
    assert_eq!(first["outcome"], "applied");
    let moved = d.get("read_ahead_kb");
    let told = j["side_effects"].as_array().unwrap().iter().find(|s| s["name"] == "read_ahead_kb");
    assert_eq!(told.map(|s| s["after"].as_str().unwrap()), (moved != "64").then_some(moved.as_str()));

    let (code, j, _) = run(&["undo", &name, "--json"]);
    assert_eq!((code, j["schema"].as_str()), (0, Some("blktune.undo/1")));
    assert_eq!((d.scheduler().as_str(), d.get("rotational").as_str()), ("none", "0"));
    assert_eq!((d.get("read_ahead_kb").as_str(), d.get("nr_requests")), ("64", requests));
    let (code, j, err) = run(&["undo", &name, "--json"]);
    assert_eq!((code, j["changes"].as_array().unwrap().len()), (0, 0));
    assert!(err.contains("nothing to undo"), "{err}");
}

#[test]
fn a_refusal_is_a_document_too_and_exit_code_10() {
    let Some(d) = loop_device(4) else { return };
    let name = d.kernel();
    d.put("rotational", "0");
    let before = d.get("read_ahead_kb");
    for change in [
        "scheduler=nonsense",
        "scheduler=[none]",
        "read_ahead_kb=-1",
        "nr_requests=100000",
        "logical_block_size=4096",
        "no_such_setting=1",
    ] {
        let (code, j, err) = run(&["set", &name, "rotational=1", change, "--json"]);
        let changes = j["changes"].as_array().unwrap();
        assert_eq!(
            (code, changes.last().unwrap()["outcome"].as_str()),
            (10, Some("refused")),
            "{change}: {err}"
        );
        assert!(changes.last().unwrap()["message"].is_string(), "{change}");
        assert_eq!(j["rolled_back"], true, "{change}");
        assert_eq!((d.get("rotational").as_str(), d.get("read_ahead_kb")), ("0", before.clone()), "{change}");
    }
}

#[test]
fn one_device_that_refuses_takes_the_others_back() {
    let (Some(a), Some(b)) = (loop_device(4), loop_device(4)) else { return };
    a.put("scheduler", "mq-deadline");
    let before = (a.get("read_ahead_kb"), a.get("nr_requests"), b.get("read_ahead_kb"), b.get("nr_requests"));
    // More than the driver's own depth: legal under a scheduler only.
    let (code, j, err) =
        run(&["set", &a.kernel(), &b.kernel(), "nr_requests=1000", "read_ahead_kb=512", "--json"]);
    assert_eq!((code, j["rolled_back"].as_bool()), (10, Some(true)), "{err}");
    assert_eq!(j["changes"].as_array().unwrap().len(), 4);
    let after = (a.get("read_ahead_kb"), a.get("nr_requests"), b.get("read_ahead_kb"), b.get("nr_requests"));
    assert_eq!(after, before);
    let (_, j, err) = run(&["undo", &a.kernel(), "--json"]);
    assert!(err.contains("nothing to undo") && j["changes"].as_array().unwrap().is_empty(), "{err}");
}

#[test]
fn a_dry_run_writes_nothing_and_leaves_nothing_to_undo() {
    let Some(d) = loop_device(4) else { return };
    let name = d.kernel();
    let text = said(&["set", &name, "read_ahead_kb=512", "scheduler=mq-deadline", "--dry-run"]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("scheduler none -> mq-deadline would be written"), "{text}");
    assert!(
        lines[1].contains("read_ahead_kb") && text.contains("known to move: scheduler: nr_requests"),
        "{text}"
    );
    assert_eq!(d.scheduler(), "none");
    let (code, _, err) = run(&["set", &name, "read_ahead_kb=4k", "--dry-run", "--json"]);
    assert_eq!(code, 10, "{err}");
    assert!(run(&["undo", &name]).2.contains("nothing to undo"));
}

#[test]
fn undo_leaves_what_somebody_else_set_and_says_so() {
    let Some(d) = loop_device(4) else { return };
    let name = d.kernel();
    assert_eq!(run(&["set", &d.dev(), "read_ahead_kb=512"]).0, 0);
    d.put("read_ahead_kb", "2048");
    let (code, _, err) = run(&["undo", &name]);
    assert_eq!((code, d.get("read_ahead_kb").as_str()), (10, "2048"));
    assert!(err.contains("read_ahead_kb is 2048 now, not the 512"), "{err}");
}

#[test]
fn a_captured_tree_is_looked_at_only() {
    let tree = sysroot("linux-6.18-loop");
    let dir = tree.path().display().to_string();
    let (code, _, err) = run(&["set", "vda", "read_ahead_kb=512", "--sysroot", &dir]);
    assert_eq!(code, 2);
    assert!(err.contains("captured"), "{err}");
    assert_eq!(run(&["undo", "--sysroot", &dir]).0, 2);
    let (code, j, err) = run(&["set", "vda", "read_ahead_kb=512", "--dry-run", "--json", "--sysroot", &dir]);
    assert_eq!((code, j["dry_run"].as_bool()), (0, Some(true)), "{err}");
}

#[test]
fn a_line_that_makes_no_sense_is_usage_and_a_missing_device_is_gone() {
    let tree = sysroot("linux-6.18-loop");
    let dir = tree.path().display().to_string();
    for (args, code) in [
        (&["vda"][..], 2),
        (&["read_ahead_kb=4"], 2),
        (&["vda", "read_ahead_kb=4", "read_ahead_kb=8"], 2),
        (&["vda", "=4"], 2),
        (&["nosuchdevice", "read_ahead_kb=4"], 5),
    ] {
        let mut line = vec!["set", "--dry-run", "--sysroot", dir.as_str()];
        line.extend(args);
        let (got, _, err) = run(&line);
        assert_eq!(got, code, "{args:?}: {err}");
        assert!(!err.is_empty(), "{args:?}");
    }
}
