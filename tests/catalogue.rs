//! The catalogue against the attributes that three kernels really show.

#![allow(clippy::panic)] // a test's helper fails the test by panicking

use std::collections::BTreeSet;

use blktune::sys::queue::{Attribute, QueueState};
use blktune::tuning::catalogue::{Group, Legal, SettingRow, changeable, known_side_effects, rows, step};
use blktune::tuning::change::Change;
use proptest::prelude::*;

fn state(attributes: &[(&str, &str, bool)]) -> QueueState {
    let attributes = attributes
        .iter()
        .map(|(n, v, w)| ((*n).to_owned(), Attribute { value: Some((*v).to_owned()), writable: *w }))
        .collect();
    QueueState { attributes }
}

fn row(rows: &[SettingRow], name: &str) -> SettingRow {
    rows.iter().find(|r| r.name == name).unwrap_or_else(|| panic!("no row {name}")).clone()
}

fn disk() -> QueueState {
    state(&[
        ("scheduler", "[none] mq-deadline kyber bfq ", true),
        ("rotational", "0", true),
        ("read_ahead_kb", "64", true),
        ("nr_requests", "128", true),
        ("nomerges", "0", true),
        ("logical_block_size", "512", false),
        ("max_sectors_kb", "1280", true),
        ("optimal_io_size", "0", false),
        ("wbt_lat_usec", "2000", true),
        ("new_in_linux_9", "17", true),
    ])
}

fn change(name: &str, requested: &str) -> Change {
    Change { name: name.to_owned(), requested: requested.to_owned() }
}

#[test]
fn every_attribute_of_three_kernels_is_described() {
    let mut seen = BTreeSet::new();
    for kernel in ["linux-6.1-qemu", "linux-6.12-qemu", "linux-6.18-loop"] {
        let path = format!("{}/tests/fixtures/{kernel}.tar.gz", env!("CARGO_MANIFEST_DIR"));
        let file = std::fs::File::open(&path).unwrap();
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(file));
        for entry in archive.entries().unwrap() {
            let entry = entry.unwrap();
            if !entry.header().entry_type().is_file() {
                continue;
            }
            let path = entry.path().unwrap().to_string_lossy().into_owned();
            if let Some((_, below)) = path.split_once("/queue/") {
                seen.insert(below.to_owned());
            }
        }
    }
    assert!(seen.len() > 60, "the fixtures hold only {} queue attributes", seen.len());
    let all = QueueState {
        attributes: seen
            .iter()
            .map(|n| (n.clone(), Attribute { value: Some("1".to_owned()), writable: true }))
            .collect(),
    };
    let unknown: Vec<String> = rows(&all, None)
        .into_iter()
        .filter(|r| r.explanation == "not described here")
        .map(|r| r.name)
        .collect();
    assert_eq!(unknown, Vec::<String>::new());
}

#[test]
fn what_the_kernel_lets_us_write_can_be_changed_and_what_matters_most_leads() {
    let rows = rows(&disk(), None);
    let names: Vec<&str> = rows.iter().map(|r| r.name.as_str()).collect();
    assert_eq!(names[..4], ["scheduler", "rotational", "read_ahead_kb", "nr_requests"]);
    assert!(rows.is_sorted_by_key(|r| r.group));
    for r in &rows {
        assert_eq!(r.writable, r.why_not.is_none(), "{}", r.name);
        assert_eq!(r.writable, disk().attributes[&r.name].writable, "{}", r.name);
        assert_eq!(r.writable, changeable(&r.name, &disk()), "{}", r.name);
        assert_eq!(r.legal == Legal::Fixed, !r.writable, "{}", r.name);
    }
    assert_eq!(row(&rows, "logical_block_size").why_not.as_deref(), Some("read only in the kernel"));
    assert!(!changeable("no_such_thing", &disk()));
}

#[test]
fn an_attribute_of_a_newer_kernel_is_plain_text() {
    let r = row(&rows(&disk(), None), "new_in_linux_9");
    assert_eq!((r.value.as_deref(), r.unit, r.group), (Some("17"), "", Group::Queue));
    assert_eq!((&r.legal, r.explanation, r.writable), (&Legal::Text, "not described here", true));
    assert_eq!((step(&r, None, true), step(&r, None, false)), (None, None), "it has to be typed");
    for (value, good) in
        [("18", true), ("two words", true), ("", false), (" ", false), ("a\nb", false), ("a\0b", false)]
    {
        assert_eq!(r.legal.refusal(&r.name, value).is_none(), good, "{value:?}");
    }
    assert!(r.legal.refusal(&r.name, &"1".repeat(4096)).is_none());
    assert!(r.legal.refusal(&r.name, &"1".repeat(4097)).unwrap().contains("4096"));
    let hostile = state(&[("Evil", "1", true), ("a/b", "1", true), ("..", "1", true)]);
    assert!(rows(&hostile, None).iter().all(|r| !r.writable), "only the kernel's sort of name is written to");
}

#[test]
fn legal_values_come_from_the_queue() {
    let all = rows(&disk(), None);
    let s = row(&all, "scheduler");
    assert_eq!((s.value.as_deref(), s.legal_text.as_str()), (Some("none"), "none mq-deadline kyber bfq"));
    assert_eq!(row(&all, "rotational").legal_text, "0 or 1");
    assert_eq!(row(&all, "nr_requests").legal_text, "4..");
    let bfq = state(&[("scheduler", "none [bfq]", true), ("nr_requests", "256", true)]);
    assert_eq!(row(&rows(&bfq, None), "nr_requests").legal_text, "4..2048");
}

#[test]
fn a_device_without_a_choice_of_scheduler_says_so() {
    let bare = row(&rows(&state(&[("scheduler", "none", true)]), None), "scheduler");
    assert_eq!(bare.why_not.as_deref(), Some("this device has no scheduler to choose"));
    assert!(rows(&state(&[("rotational", "0", true)]), None).iter().all(|r| r.name != "scheduler"));
}

#[test]
fn missing_rights_are_the_reason_only_where_the_kernel_would_allow_it() {
    let all = rows(&disk(), Some("needs root"));
    assert_eq!(row(&all, "read_ahead_kb").why_not.as_deref(), Some("needs root"));
    assert_eq!(row(&all, "logical_block_size").why_not.as_deref(), Some("read only in the kernel"));
    assert_eq!(step(&row(&all, "read_ahead_kb"), None, true), None);
}

#[test]
fn stepping_goes_round_words_and_stops_at_the_ends_of_numbers() {
    let all = rows(&disk(), None);
    let s = row(&all, "scheduler");
    assert_eq!(step(&s, None, true).as_deref(), Some("mq-deadline"));
    assert_eq!(step(&s, None, false).as_deref(), Some("bfq"));
    assert_eq!(step(&s, Some("bfq"), true).as_deref(), Some("none"));
    let ra = row(&all, "read_ahead_kb");
    assert_eq!(step(&ra, None, true).as_deref(), Some("128"));
    assert_eq!(step(&ra, Some("100"), false).as_deref(), Some("64"));
    assert_eq!(step(&ra, Some("0"), false), None);
    assert_eq!(step(&ra, Some("16384"), true), None);
    assert_eq!(step(&row(&all, "nomerges"), None, true).as_deref(), Some("1"));
    assert_eq!(step(&row(&all, "logical_block_size"), None, true), None);
}

#[test]
fn the_diff_tells_what_else_will_move() {
    let told = known_side_effects(&[change("rotational", "1")], &disk()).join("\n");
    assert!(told.contains("read_ahead_kb") && told.contains("2560 KiB"), "{told}");
    let told = known_side_effects(&[change("scheduler", "bfq")], &disk()).join("\n");
    assert!(told.contains("nr_requests (now 128)") && told.contains("wbt_lat_usec"), "{told}");
    let told =
        known_side_effects(&[change("rotational", "1"), change("read_ahead_kb", "512")], &disk()).join("\n");
    assert!(told.contains("written last") && !told.contains("never lower"), "{told}");
    assert_eq!(known_side_effects(&[change("scheduler", "none")], &disk()), Vec::<String>::new());
}

#[test]
fn stopping_flushes_is_said_first_and_never_stepped_to() {
    let with = |cache: &str| {
        state(&[("write_cache", cache, true), ("read_ahead_kb", "64", true), ("rotational", "0", true)])
    };
    for through in ["write through", "none"] {
        let told = known_side_effects(
            &[change("rotational", "1"), change("write_cache", through)],
            &with("write back"),
        );
        assert!(told[0].starts_with("write_cache: data safety"), "{told:?}");
        assert!(told[0].contains("no more flushes") && told[0].contains("power cut"), "{told:?}");
    }
    let r = row(&rows(&with("write back"), None), "write_cache");
    assert_eq!(r.legal_text, "write back or write through");
    assert_eq!((step(&r, None, true), step(&r, None, false)), (None, None));
    assert_eq!(step(&r, Some("write through"), true).as_deref(), Some("write back"), "the way back is open");
    let r = row(&rows(&with("write through"), None), "write_cache");
    assert_eq!(step(&r, None, true).as_deref(), Some("write back"));
    let told = known_side_effects(&[change("write_cache", "write through")], &with("write through"));
    assert_eq!(told, Vec::<String>::new(), "nothing is written");
    for (value, good) in [
        ("write back", true),
        ("write through", true),
        ("none", true),
        ("write back extra", false),
        ("WRITE BACK", false),
        ("off", false),
    ] {
        assert_eq!(r.legal.refusal("write_cache", value).is_none(), good, "{value}");
    }
}

#[test]
fn every_limit_is_known_to_move_read_ahead_and_no_other_setting_is() {
    let moves = |name: &str, value: &str| {
        let s = state(&[(name, "5", true), ("read_ahead_kb", "64", true), ("optimal_io_size", "0", false)]);
        known_side_effects(&[change(name, value)], &s).iter().any(|t| t.contains("up to 128 KiB"))
    };
    for limit in [
        "rotational",
        "max_sectors_kb",
        "add_random",
        "iostats",
        "iostats_passthrough",
        "stable_writes",
        "write_cache",
        "discard_max_bytes",
        "write_zeroes_unmap_max_bytes",
    ] {
        assert!(moves(limit, "0"), "{limit}");
    }
    for other in ["nomerges", "rq_affinity", "nr_requests", "wbt_lat_usec", "io_timeout"] {
        assert!(!moves(other, "0"), "{other}");
    }
}

#[test]
fn what_can_not_be_taken_back_is_told_before() {
    let s = state(&[
        ("wbt_lat_usec", "2000", true),
        ("discard_max_bytes", "4096", true),
        ("iostats", "1", true),
        ("stable_writes", "1", true),
    ]);
    let told = |name: &str, value: &str| known_side_effects(&[change(name, value)], &s).join("\n");
    assert!(told("wbt_lat_usec", "5000").contains("stays marked"), "{}", told("wbt_lat_usec", "5000"));
    assert!(told("discard_max_bytes", "0").contains("do not take 0 back"));
    assert!(told("iostats", "0").contains("nothing can be measured"));
    assert!(told("stable_writes", "0").contains("data safety"));
    assert_eq!(told("wbt_lat_usec", "02000"), "", "it has that value");
}

#[test]
fn numbers_know_their_ends_and_the_kernel_judges_what_is_beyond() {
    let s = state(&[
        ("max_sectors_kb", "1280", true),
        ("max_hw_sectors_kb", "1280", false),
        ("wbt_lat_usec", "2000", true),
        ("discard_max_bytes", "4096", true),
        ("discard_max_hw_bytes", "0", false),
        ("iosched/read_expire", "500", true),
        ("write_zeroes_unmap_max_bytes", "0", true),
        ("write_zeroes_unmap_max_hw_bytes", "65536", false),
    ]);
    let all = rows(&s, None);
    let text = |name: &str| row(&all, name).legal_text;
    assert_eq!((text("max_sectors_kb").as_str(), text("wbt_lat_usec").as_str()), ("0..1280", "0.. or -1"));
    assert_eq!(text("iosched/read_expire"), "0..");
    let refused = |name: &str, value: &str| row(&all, name).legal.refusal(name, value);
    assert_eq!(refused("max_sectors_kb", "99999"), None);
    assert_eq!(refused("wbt_lat_usec", "-1"), None);
    for (name, bad) in [
        ("max_sectors_kb", "-1"),
        ("wbt_lat_usec", "1-"),
        ("wbt_lat_usec", "-"),
        ("iosched/read_expire", "-1"),
        ("max_sectors_kb", "4k"),
    ] {
        assert!(refused(name, bad).is_some(), "{name}={bad}");
    }
    let discard = row(&all, "discard_max_bytes");
    assert_eq!(step(&discard, None, true), None, "this device takes none");
    let zeroes = row(&all, "write_zeroes_unmap_max_bytes");
    assert_eq!(step(&zeroes, None, true).as_deref(), Some("65536"));
}

proptest! {
    #[test]
    fn stepping_offers_only_legal_values_and_always_gets_to_an_end(start in 0u64..100_000, forward: bool) {
        let ra = row(&rows(&disk(), None), "read_ahead_kb");
        let mut at = start.to_string();
        let mut steps = 0;
        while let Some(next) = step(&ra, Some(&at), forward) {
            let (a, b): (u64, u64) = (at.parse().unwrap(), next.parse().unwrap());
            prop_assert_eq!(forward, b > a);
            prop_assert_ne!(a, b);
            at = next;
            steps += 1;
            prop_assert!(steps < 50);
        }
    }

    #[test]
    fn rows_never_panic_and_lose_nothing(names in proptest::collection::btree_map("[a-z_/]{0,20}", ".{0,20}", 0..20)) {
        let s = QueueState {
            attributes: names.iter().map(|(n, v)| (n.clone(), Attribute { value: Some(v.clone()), writable: true })).collect(),
        };
        prop_assert_eq!(rows(&s, None).len(), names.len());
    }
}
