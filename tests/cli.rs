//! The command line's contract: fields, exit codes, what goes where.

// A test's functions fail the test by panicking.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use serde_json::Value;
use support::blktune;
use support::fixtures::{Fixture, sysroot};

fn json(args: &[&str]) -> Value {
    let (mut c, _home) = blktune();
    let out = c.args(args).output().unwrap();
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).unwrap()
}

/// A captured tree and its directory; the tree goes with the first.
fn tree() -> (Fixture, String) {
    let fixture = sysroot("linux-6.12-qemu");
    let dir = fixture.path().to_str().unwrap().to_owned();
    (fixture, dir)
}

#[test]
fn list_leaves_out_what_nobody_tunes_and_says_how_much() {
    let (_tree, dir) = tree();
    let all = json(&["list", "--all", "--json", "--sysroot", &dir]);
    let plain = json(&["list", "--json", "--sysroot", &dir]);
    assert_eq!(plain["schema"], "blktune.list/1");
    let names = |v: &Value| -> Vec<String> {
        v["devices"].as_array().unwrap().iter().map(|d| d["name"].as_str().unwrap().to_owned()).collect()
    };
    let (all, plain_names) = (names(&all), names(&plain));
    for gone in ["loop5", "nbd0", "zram1", "ram3", "nvme3c2n1"] {
        assert!(all.contains(&gone.to_owned()) && !plain_names.contains(&gone.to_owned()), "{gone}");
    }
    for kept in ["sda", "loop1", "dm-6", "md5", "zram0", "ram0", "nvme3n1"] {
        assert!(plain_names.contains(&kept.to_owned()), "{kept}");
    }
    assert_eq!(plain["left_out"], all.len() - plain_names.len());
}

#[test]
fn unknown_is_null_in_json() {
    let (_tree, dir) = tree();
    let all = json(&["list", "--all", "--json", "--sysroot", &dir]);
    let find = |n: &str| all["devices"].as_array().unwrap().iter().find(|d| d["name"] == n).unwrap().clone();
    let zram = find("zram0");
    assert_eq!(
        (&zram["scheduler"], &zram["nr_requests"], &zram["model"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
    let sda = find("sda");
    assert_eq!(sda["scheduler"]["active"], "kyber");
    assert_eq!(sda["scheduler"]["available"].as_array().unwrap().len(), 4);
    assert_eq!((&sda["read_ahead_kib"], &sda["rotational"]), (&Value::from(128), &Value::from(false)));
    assert_eq!(find("nvme3c2n1")["path"], Value::Null);
}

#[test]
fn show_has_every_setting_of_the_queue() {
    let (_tree, dir) = tree();
    let v = json(&["show", "sda", "--json", "--sysroot", &dir]);
    assert_eq!((v["schema"].as_str(), v["name"].as_str()), (Some("blktune.show/1"), Some("sda")));
    let files = |sub: &str| -> Vec<String> {
        let prefix = if sub == "queue" { String::new() } else { "iosched/".to_owned() };
        std::fs::read_dir(format!("{dir}/sys/block/sda/{sub}"))
            .unwrap()
            .flatten()
            .filter(|e| e.file_type().unwrap().is_file())
            .map(|e| format!("{prefix}{}", e.file_name().into_string().unwrap()))
            .collect()
    };
    let settings = v["settings"].as_array().unwrap();
    let named: Vec<&str> = settings.iter().map(|s| s["name"].as_str().unwrap()).collect();
    for file in files("queue").into_iter().chain(files("queue/iosched")) {
        assert!(named.contains(&file.as_str()), "{file} is not shown; shown are {named:?}");
    }
    for s in settings {
        assert!(!s["explanation"].as_str().unwrap().is_empty(), "{}", s["name"]);
        assert_eq!(s["writable"], false, "a captured tree: {}", s["name"]);
        assert!(s["why_not"].is_string(), "{}", s["name"]);
    }
}

#[test]
fn a_device_mapper_device_answers_to_all_its_names() {
    let (_tree, dir) = tree();
    for typed in ["dm-3", "/dev/dm-3", "/dev/mapper/slow\\x20disk", "slow\\x20disk"] {
        assert_eq!(json(&["show", typed, "--json", "--sysroot", &dir])["name"], "dm-3", "{typed}");
    }
}

#[test]
fn watch_prints_a_line_a_sample_and_the_first_has_no_rates() {
    let (mut c, _home) = blktune();
    let out = c.args(["watch", "--json", "--count", "2", "--interval", "100ms"]).output().unwrap();
    let lines: Vec<Value> =
        String::from_utf8(out.stdout).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    let rows = |v: &Value| v["devices"].as_array().unwrap().clone();
    assert!(!rows(&lines[0]).is_empty());
    for d in rows(&lines[0]) {
        assert_eq!(
            (&d["read_iops"], &d["busy_pct"], &d["new"]),
            (&Value::Null, &Value::Null, &Value::from(true)),
            "{d}"
        );
    }
    assert_eq!(lines[0]["interval_s"], Value::Null);
    assert!(lines[1]["interval_s"].as_f64().unwrap() >= 0.05);
    for d in rows(&lines[1]) {
        let known = d["read_iops"].as_f64().is_some_and(|v| v >= 0.0);
        let reason = d["read_iops"].is_null() && !d["notes"].as_array().unwrap().is_empty();
        assert!(known || reason, "{d}");
    }
    for (line, known) in lines.iter().zip([false, true]) {
        let leaves = line["total"]["leaves"].as_u64().unwrap();
        assert!(leaves <= rows(line).len() as u64, "{line}");
        assert_eq!(line["total"]["read_iops"].is_number(), known && leaves > 0, "{line}");
    }
}

#[test]
fn the_head_of_multipath_has_the_figures_of_its_paths_also_from_a_record() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("record");
    let sample = |t: u32, paths: [u32; 2]| {
        let path = |i: usize, n: u32| format!("0 0 nvme0c{i}n1 {n}000 0 {n}000 {n}00 0 0 0 0 {n} {n}0 {n}00");
        let rows = [path(0, paths[0]), path(1, paths[1]), "259 1 nvme0n1 0 0 0 0 0 0 0 0 0 0 0".to_owned()];
        serde_json::json!({"t_s": t, "boot_s": t, "diskstats": rows.join("\n")}).to_string()
    };
    std::fs::write(&file, [sample(10, [1, 1]), sample(11, [4, 2])].join("\n")).unwrap();
    let replay = |args: &[&str]| {
        let (mut c, _home) = blktune();
        let out = c.args(["watch", "--replay"]).arg(&file).args(args).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap()
    };
    let line: Value = serde_json::from_str(replay(&["--json"]).lines().nth(1).unwrap()).unwrap();
    let devices = line["devices"].as_array().unwrap();
    let row = |name: &str| devices.iter().find(|d| d["name"] == name).unwrap();
    // 3000 and 1000 reads in a second.
    let head = row("nvme0n1");
    assert_eq!((&head["read_iops"], &head["in_flight"]), (&Value::from(4000.0), &Value::from(6)));
    assert_eq!(head["notes"], serde_json::json!(["from paths"]));
    assert_eq!(head["paths"], serde_json::json!(["nvme0c0n1", "nvme0c1n1"]));
    assert_eq!(row("nvme0c0n1")["path_of"], "nvme0n1");
    assert_eq!(
        (&line["total"]["read_iops"], &line["total"]["leaves"]),
        (&Value::from(4000.0), &Value::from(1))
    );
    let text = replay(&[]);
    let last = text.trim_end().lines().last().unwrap();
    assert!(last.starts_with("TOTAL") && last.contains("4000"), "{text}");
    assert!(!replay(&["nvme0n1"]).contains("TOTAL"), "one device is its own total");
}

#[test]
fn exit_codes_are_the_contract() {
    let (_tree, dir) = tree();
    for (args, code, says) in [
        (vec!["show", "no-such-device"], 5, "no such block device"),
        (vec!["show", "../../etc/passwd"], 5, "no such block device"),
        (vec!["list", "--no-such-option"], 2, "--no-such-option"),
        (vec!["list", "--sysroot", "/nonexistent-tree"], 2, "not a directory"),
        (vec!["watch", "--interval", "1ms"], 2, "100ms to 60s"),
        (vec!["set", "sda", "scheduler=none", "--sysroot", &dir], 2, "captured tree"),
        (vec!["run", "randread-4k", "sda", "--sysroot", &dir], 2, "captured tree"),
        (vec!["run", "randwrite-4k", "Cargo.toml"], 6, "write"),
        (vec!["run", "randread-4k", "Cargo.toml", "--set", "rw=randwrite"], 6, "write"),
        (vec!["run", "no-such-job"], 2, "no-such-job"),
        (vec!["list", "--theme", "no-such-theme"], 3, "no-such-theme"),
        (vec![], 2, "run"),
    ] {
        let (mut c, _home) = blktune();
        let out = c.args(&args).output().unwrap();
        let err = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(code), "{args:?}: {err}");
        assert!(err.contains(says), "{args:?}: {err}");
        assert!(out.stdout.is_empty(), "{args:?}: data on stdout beside an error");
    }
}

#[test]
fn options_may_stand_before_or_behind_the_command() {
    let (_tree, dir) = tree();
    let behind = json(&["show", "sda", "--json", "--sysroot", &dir]);
    assert_eq!(json(&["--sysroot", &dir, "show", "sda", "--json"]), behind);
    assert_eq!(json(&["--ascii", "--color", "never", "--sysroot", &dir, "show", "--json", "sda"]), behind);
    let (mut c, _home) = blktune();
    let out = c.args(["sda", "list"]).output().unwrap();
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&out.stderr).contains("blktune show sda"));
}

#[test]
fn without_a_terminal_the_screen_names_the_commands_and_sends_no_escape_code() {
    let (mut c, _home) = blktune();
    let out = c.output().unwrap();
    let err = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(2));
    assert_eq!(err.lines().count(), 1, "{err}");
    assert!(err.contains("blktune list") && err.contains("blktune run"), "{err}");
    assert!(!err.contains('\u{1b}') && out.stdout.is_empty());
}

#[test]
fn a_reader_that_goes_away_ends_the_program_quietly() {
    for args in
        [&["list", "--all", "--json"][..], &["watch", "--json", "--interval", "100ms"], &["jobs", "--json"]]
    {
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_blktune"))
            .args(args)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let out = child.wait_with_output().unwrap();
        assert_eq!(out.status.code(), Some(0), "{args:?}");
        assert_eq!(String::from_utf8_lossy(&out.stderr), "", "{args:?}");
    }
}

#[test]
fn escape_sequences_of_a_device_never_reach_the_output() {
    let fixture = support::fixtures::fresh_sysroot("linux-6.12-qemu");
    let model = fixture.path().join("sys/block/sda/device/model");
    let mode = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o644);
    std::fs::set_permissions(&model, mode).unwrap();
    std::fs::write(&model, b"EVIL\x1b[2J\x92\x07 DISK\n").unwrap();
    for args in [&["list"][..], &["list", "--json"], &["show", "sda"], &["show", "sda", "--json"]] {
        let (mut c, _home) = blktune();
        let out = c.args(args).arg("--sysroot").arg(fixture.path()).output().unwrap();
        assert!(out.status.success());
        let text = String::from_utf8(out.stdout).expect("valid UTF-8");
        assert!(text.contains("EVIL"), "{args:?}: {text}");
        assert!(
            text.chars().all(|c| c == '\n' || !c.is_control()),
            "{args:?}: a control character got through"
        );
    }
}

/// What is said beside the data is said to nobody then, and that is all.
#[test]
fn a_stderr_that_nobody_reads_changes_nothing() {
    let (_tree, dir) = tree();
    let shown = |nobody_reads: bool| {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_blktune"));
        command.args(["show", "vda1", "--sysroot", &dir]).stderr(writer);
        let mut said = String::new();
        if nobody_reads {
            drop(reader);
            reader = std::io::pipe().unwrap().0;
        }
        let out = command.stdout(std::process::Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
        // Its end of the pipe too.
        drop(command);
        std::io::Read::read_to_string(&mut reader, &mut said).unwrap();
        (out.status.code(), out.stdout, said)
    };
    let (code, data, said) = shown(false);
    assert!(code == Some(0) && said.contains("vda1"), "{code:?} {said}");
    assert_eq!(shown(true), (code, data, String::new()));
}
