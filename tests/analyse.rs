//! From a table of trials to a verdict, through the command and through the library: every rule that decides.

// A test's functions fail the test by panicking, and indices come from the vectors.
#![allow(clippy::unwrap_used, clippy::panic)]
// Tables are put together row by row; what that costs does not matter here.
#![allow(clippy::format_push_string, clippy::format_collect)]

mod support;

use blktune::experiment::analysis::{Analysis, CellFigures, analyse, live};
use blktune::experiment::circumstances::{Circumstances, Early};
use blktune::experiment::order::Light;
use blktune::experiment::table::Table;
use blktune::experiment::verdict::Verdict;
use proptest::prelude::*;
use serde_json::Value;
use support::blktune;

/// A table of blocks: ABBA and BAAB in turn. `reading(block, place, candidate)` is the value of a trial.
fn table(blocks: usize, lead_ins: bool, mut reading: impl FnMut(usize, usize, bool) -> f64) -> String {
    let mut text = "block,position,cell,value,role\n".to_owned();
    for block in 1..=blocks {
        let order = if block % 2 == 1 { [false, true, true, false] } else { [true, false, false, true] };
        let name = |candidate| if candidate { "B" } else { "A" };
        if lead_ins {
            text += &format!("{block},,{},{},lead-in\n", name(order[0]), reading(block, 0, order[0]));
        }
        for (i, candidate) in order.into_iter().enumerate() {
            let value = reading(block, i + 1, candidate);
            text += &format!("{block},{},{},{value},trial\n", i + 1, name(candidate));
        }
    }
    text
}

/// Deterministic noise of about this size, different for every trial.
fn noise(block: usize, place: usize, size: f64) -> f64 {
    let x = f64::from(u32::try_from(block * 31 + place * 17).unwrap());
    size * (x * 12.989_8).sin()
}

fn judged(text: &str, margin: f64, adaptive: bool) -> Analysis {
    let table = Table::read(text.as_bytes(), None).unwrap();
    analyse(&table.question(margin, adaptive), &table.observations, &Circumstances::default())
}

fn vectors() -> Vec<Value> {
    let text = include_str!("fixtures/stat-vectors.json");
    serde_json::from_str::<Value>(text).unwrap()["vectors"].as_array().unwrap().clone()
}

fn command(args: &[&str], stdin: &str) -> (Option<i32>, String, String) {
    let (mut c, _home) = blktune();
    let out = c.arg("analyse").args(args).arg("-").write_stdin(stdin).output().unwrap();
    let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
    (out.status.code(), text(&out.stdout), text(&out.stderr))
}

/// Blocks whose log ratios are these.
fn of_log_ratios(d: &[f64]) -> String {
    table(d.len(), true, |block, _, candidate| if candidate { 500.0 * d[block - 1].exp() } else { 500.0 })
}

#[test]
fn every_vector_of_a_verdict_goes_from_csv_to_json() {
    let mut seen = 0;
    for v in vectors().iter().filter(|v| v["id"].as_str().unwrap().starts_with("verdict-")) {
        let id = v["id"].as_str().unwrap();
        let adaptive = v["input"]["alpha"] == 0.017;
        let d: Vec<f64> = v["input"]["d"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
        // At the looks only their blocks are judged.
        if adaptive && ![3, 6, 10, 14, 20].contains(&d.len()) {
            continue;
        }
        let args: &[&str] = if adaptive { &["--json", "--adaptive"] } else { &["--json"] };
        let (code, out, err) = command(args, &of_log_ratios(&d));
        assert_eq!(code, Some(0), "{id}: {err}");
        let json: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(json["schema"], "blktune.analyse/1");
        let (c, expected) = (&json["comparisons"][0], &v["expected"]);
        let word = match expected["code"].as_str().unwrap() {
            "B_FASTER" => "better",
            "A_FASTER" => "worse",
            "EQUIVALENT" => "equivalent",
            "INCONCLUSIVE" => "inconclusive",
            "PRELIMINARY" => "preliminary",
            other => panic!("{id}: {other}"),
        };
        assert_eq!(c["verdict"], word, "{id}: {c}");
        let near = |got: &Value, log: &Value, what: &str| {
            let (got, wanted) = (got.as_f64().unwrap().ln(), log.as_f64().unwrap());
            assert!((got - wanted).abs() < 1e-9, "{id} {what}: {got}, not {wanted}");
        };
        if expected["ci_diff"].is_array() {
            near(&c["ratio"], &expected["mean"], "mean");
            for end in 0..2 {
                near(&c["ci"][end], &expected["ci_diff"][end], "ci");
                near(&c["ci_equivalence"][end], &expected["ci_equiv"][end], "equivalence");
            }
        }
        if let Some(flag) = expected["at_least_margin"].as_bool() {
            assert_eq!(c["at_least_margin"], flag, "{id}");
        }
        if let Some(flag) = expected["measurable_small_difference"].as_bool() {
            assert_eq!(c["measurable"], flag, "{id}");
        }
        if word == "inconclusive" {
            let more = expected["n_more_blocks"].as_u64();
            assert_eq!(c["new_experiment_blocks"].as_u64(), more.map(|m| m + d.len() as u64), "{id}");
        }
        seen += 1;
    }
    assert!(seen >= 15, "{seen}");
}

#[test]
fn the_wording_is_that_of_the_documents() {
    let said = |id: &str, adaptive: bool| {
        let all = vectors();
        let v = all.iter().find(|v| v["id"] == *id).unwrap();
        let d: Vec<f64> = v["input"]["d"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
        judged(&of_log_ratios(&d), 0.03, adaptive).sentence().to_owned()
    };
    assert_eq!(
        said("verdict-E1-alpha0.017", true),
        "B is faster: +4.6 % (98.3 % CI +2.8…+6.4 %, look at 6 blocks; 95 % over all four looks). Order effect: none seen."
    );
    assert!(
        said("verdict-a_wins_big-alpha0.05", false)
            .starts_with("A is faster by at least 3 %: B −39.6 % (95 % CI −41.4…−37.8 %, 6 blocks).")
    );
    assert!(
        said("verdict-E2-alpha0.05", false)
            .starts_with("Equivalent within ±3 %: B +0.3 % (90 % CI −0.3…+0.8 %, 8 blocks).")
    );
    assert!(said("verdict-E3-alpha0.05", false).starts_with(
        "Inconclusive: B +1.1 % (95 % CI −2.2…+4.4 %, 6 blocks). A new experiment of 10 blocks would decide if mean and \
         spread stay as they are."
    ));
    assert_eq!(said("verdict-too_few-alpha0.05", false), "Preliminary (3 of 6 blocks).");
    assert!(said("verdict-wild-alpha0.05", false).contains("More than 100 blocks would be needed"));
}

/// The carry-over vectors as tables.
fn carried(id: &str, lead_ins: bool) -> (Value, String) {
    let all = vectors();
    let v = all.iter().find(|v| v["id"] == *id).unwrap().clone();
    let mut text = "block,position,cell,value,role\n".to_owned();
    for (block, b) in v["input"]["blocks"].as_array().unwrap().iter().enumerate() {
        let runs = b["runs"].as_array().unwrap();
        if lead_ins {
            text += &format!("{block},,{},400,lead-in\n", runs[0]["arm"].as_str().unwrap());
        }
        for (i, r) in runs.iter().enumerate() {
            text += &format!("{block},{},{},{},trial\n", i + 1, r["arm"].as_str().unwrap(), r["mb_per_s"]);
        }
    }
    (v, text)
}

#[test]
fn carry_over_is_the_vectors_and_lights_up() {
    for (id, light) in [
        ("carryover-E1", Light::Green),
        ("carryover-E2", Light::Green),
        ("carryover-E3", Light::Amber),
        ("carryover-E4", Light::Red),
    ] {
        for (lead_ins, key) in [(true, "with_lead_in"), (false, "middle_pair")] {
            let (v, text) = carried(id, lead_ins);
            let order = judged(&text, 0.03, false).order;
            let wanted = v["expected"][key]["estimate"].as_f64().unwrap();
            assert!((order.carryover.unwrap() - wanted).abs() < 1e-9, "{id} {key}");
            assert_eq!((order.light, order.lead_ins), (light, lead_ins), "{id} {key}");
        }
    }
}

#[test]
fn without_lead_ins_a_red_light_takes_an_equivalence_away_and_with_them_it_stands() {
    let with = judged(&carried("carryover-E4", true).1, 0.03, false);
    assert_eq!(with.comparisons[0].verdict, Verdict::Equivalent);
    let warning = "Warning – order matters: a trial right after B is 5.1 % faster than one right after A";
    assert!(with.sentence().contains(warning), "{}", with.sentence());
    let without = judged(&carried("carryover-E4", false).1, 0.03, false);
    assert_eq!(without.comparisons[0].verdict, Verdict::Inconclusive);
    assert!(without.sentence().contains("lead-ins could tell"), "{}", without.sentence());
    // One block that lacks its lead-in is enough to count as none.
    let (_, text) = carried("carryover-E4", true);
    let dropped: Vec<&str> = text.lines().filter(|l| !l.starts_with("3,,")).collect();
    assert!(!judged(&dropped.join("\n"), 0.03, false).order.lead_ins);
}

#[test]
fn identical_blocks_are_decided_and_doubted() {
    let equal = judged(&of_log_ratios(&[0.0; 6]), 0.03, false);
    assert_eq!(equal.comparisons[0].verdict, Verdict::Equivalent);
    // No spread, and yet a difference.
    let ahead = judged(&of_log_ratios(&[0.05; 6]), 0.03, false);
    assert_eq!((ahead.comparisons[0].verdict, ahead.comparisons[0].at_least_margin), (Verdict::Better, true));
    for a in [equal, ahead] {
        assert!(a.comparisons[0].identical);
        assert!(a.warnings.iter().any(|w| w.contains("identical readings")), "{:?}", a.warnings);
    }
}

#[test]
fn of_a_latency_less_is_better() {
    let text = of_log_ratios(&[0.05, 0.04, 0.06, 0.05, 0.045, 0.055]);
    let rate = judged(&text, 0.03, false);
    assert_eq!(rate.comparisons[0].verdict, Verdict::Better);
    let lines = text.lines().enumerate();
    let latency: Vec<String> =
        lines.map(|(i, l)| format!("{l},{}", if i == 0 { "metric" } else { "p99" })).collect();
    let latency = judged(&latency.join("\n"), 0.03, false);
    assert_eq!(latency.comparisons[0].verdict, Verdict::Worse);
    assert_eq!(latency.comparisons[0].ratio, rate.comparisons[0].ratio);
    assert!(
        latency.sentence().starts_with("A is better by at least 3 %: B +5.1 %"),
        "{}",
        latency.sentence()
    );
}

/// Of some trials only, a cell's p99.9 could be below its p99.
#[test]
fn a_cell_shows_no_figure_that_some_of_its_trials_lack() {
    let table = |lacking: Option<(usize, usize)>| {
        let mut text = "block,position,cell,metric,value\n".to_owned();
        for line in table(6, false, |b, i, _| 5.0 + noise(b, i, 0.1)).lines().skip(1) {
            let f: Vec<&str> = line.split(',').collect();
            text += &format!("{},{},{},p99,{}\n", f[0], f[1], f[2], f[3]);
            if lacking.is_none_or(|(b, i)| (f[0], f[1]) != (&*b.to_string(), &*i.to_string())) {
                text += &format!("{},{},{},p99_9,{}\n", f[0], f[1], f[2], f[3]);
            }
        }
        text
    };
    let metrics = |text: &str| {
        let of = |c: &CellFigures| c.figures.iter().map(|f| f.metric.clone()).collect::<Vec<_>>().join(" ");
        judged(text, 0.03, false).cells.iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(metrics(&table(None)), ["p99 p99_9", "p99 p99_9"]);
    // The second trial of the third block is the candidate's.
    assert_eq!(metrics(&table(Some((3, 2)))), ["p99 p99_9", "p99"]);
}

#[test]
fn faster_on_average_and_worse_in_the_tail_is_said_aloud() {
    let mut text = "block,position,cell,metric,value\n".to_owned();
    for line in of_log_ratios(&[0.05, 0.04, 0.06, 0.05, 0.045, 0.055]).lines().skip(1) {
        let f: Vec<&str> = line.split(',').collect();
        if f[4] == "trial" {
            text += &format!(
                "{},{},{},throughput,{}\n{},{},{},p99,{}\n",
                f[0], f[1], f[2], f[3], f[0], f[1], f[2], f[3]
            );
        }
    }
    let a = judged(&text, 0.03, false);
    assert_eq!(a.comparisons.len(), 2);
    assert!(
        a.trade_offs[0].starts_with("Trade-off: B is faster on average, worse in the tail: p99 +5.1 %"),
        "{:?}",
        a.trade_offs
    );
}

#[test]
fn what_was_stopped_is_judged_by_the_last_look() {
    // Undecided in the first six blocks; the two that follow would decide.
    let d = [0.00, 0.08, -0.02, 0.09, -0.03, 0.10, 0.05, 0.05];
    let table = Table::read(of_log_ratios(&d).as_bytes(), None).unwrap();
    let question = table.question(0.03, true);
    let stopped = Circumstances { early: Some(Early::Stopped), ..Circumstances::default() };
    let ended = analyse(&question, &table.observations, &stopped);
    let c = &ended.comparisons[0];
    assert_eq!((c.verdict, c.look, c.blocks, c.d.len()), (Verdict::Inconclusive, Some(6), 6, 8));
    assert!(
        c.sentence.contains("Stopped by the user at 8 blocks; judged by the look at 6."),
        "{}",
        c.sentence
    );
    let on = live(&question, &table.observations, &Circumstances::default());
    assert_eq!((on.comparisons[0].verdict, on.next_look, on.interim), (Verdict::Preliminary, Some(10), true));
    assert!(
        on.sentence().starts_with("Continuing to 10 blocks: B")
            && on.sentence().contains("not a decision point")
    );
    assert!(!on.decided());
}

#[test]
fn a_device_that_does_not_come_back_is_latched_and_a_drift_is_not() {
    let framed = |drift: f64, latch: f64| {
        let mut text = "block,position,cell,value,role\n".to_owned();
        let mut n = 0.0;
        let mut next = |latched: bool, size: f64| {
            n += 1.0;
            500.0 * (drift * n + size + if latched { latch } else { 0.0 }).exp()
        };
        for i in 0..3 {
            text += &format!(",,found,{},baseline\n", next(false, noise(i, 90, 0.002)));
        }
        text += table(6, true, |b, i, _| next(true, noise(b, i, 0.002))).split_once('\n').unwrap().1;
        for i in 0..3 {
            text += &format!(",,found,{},baseline\n", next(true, noise(i, 91, 0.002)));
        }
        judged(&text, 0.03, false)
    };
    let latched = framed(0.0, -0.08);
    assert_eq!((latched.order.latched, latched.order.light), (Some(true), Light::Red));
    assert_eq!(latched.comparisons[0].verdict, Verdict::Invalid);
    assert!(
        latched.sentence().starts_with("Not valid: the device did not come back"),
        "{}",
        latched.sentence()
    );
    let drifting = framed(0.002, 0.0);
    assert_eq!((drifting.order.latched, drifting.comparisons[0].verdict), (Some(false), Verdict::Equivalent));
    assert_eq!(drifting.order.light, Light::Amber);
    assert!(drifting.order.text.starts_with("drift or latch"), "{}", drifting.order.text);
    assert!(
        drifting.warnings.iter().any(|w| w.starts_with("Readings drift by +0.2")),
        "{:?}",
        drifting.warnings
    );
    assert_eq!(framed(0.0, 0.0).order.latched, Some(false));
}

#[test]
fn blocks_that_resemble_their_neighbours_are_told() {
    let d: Vec<f64> = (0..12).map(|i| f64::from(i) * 0.01).collect();
    assert!(judged(&of_log_ratios(&d), 0.03, false).order.neighbours_alike.is_some());
    let d: Vec<f64> = (0..9).map(|i| f64::from(i) * 0.01).collect();
    assert!(judged(&of_log_ratios(&d), 0.03, false).order.neighbours_alike.is_none(), "fewer than ten");
}

#[test]
fn an_outlier_is_told_and_kept() {
    let text = table(6, false, |b, i, _| if (b, i) == (2, 2) { 100.0 } else { 500.0 + noise(b, i, 1.0) });
    let a = judged(&text, 0.03, false);
    let far: Vec<_> = a.trials.iter().filter(|t| t.outlier).collect();
    assert_eq!((far.len(), far[0].block, far[0].used), (1, Some(2), true));
    assert!(a.warnings.iter().any(|w| w.contains("far from the others of its cell") && w.contains("kept")));
    // No spread to measure by: nothing is called far.
    let flat = table(6, false, |b, i, _| if (b, i) == (2, 2) { 100.0 } else { 500.0 });
    assert!(judged(&flat, 0.03, false).trials.iter().all(|t| !t.outlier));
}

/// Case of a device whose first run is 30 % slower than all others: no block has it, and it is told.
#[test]
fn a_slow_first_run_is_told_and_changes_nothing() {
    let lead =
        |slow: f64| table(6, true, |b, i, _| if (b, i) == (1, 0) { slow } else { 500.0 + noise(b, i, 1.0) });
    let plain = judged(&lead(500.3), 0.03, false);
    let slow = judged(&lead(350.0), 0.03, false);
    assert!(
        slow.warnings.iter().any(|w| w.contains("The first lead-in, of A, read 350")),
        "{:?}",
        slow.warnings
    );
    assert!(!plain.warnings.iter().any(|w| w.contains("lead-in")), "{:?}", plain.warnings);
    assert_eq!(slow.sentence(), plain.sentence());

    let found = |first: f64| {
        let blocks = table(6, true, |b, i, _| 500.0 + noise(b, i, 1.0));
        let (head, rows) = blocks.split_once('\n').unwrap();
        let baseline = |when: &str, v: f64| format!(",,A,{v},baseline-{when}\n");
        let before = baseline("before", first) + &baseline("before", 500.4) + &baseline("before", 499.8);
        let after = baseline("after", 500.1) + &baseline("after", 499.7) + &baseline("after", 500.6);
        format!("{head}\n{before}{rows}{after}")
    };
    let plain = judged(&found(500.2), 0.03, false);
    let slow = judged(&found(350.0), 0.03, false);
    assert!(slow.warnings.iter().any(|w| w.contains("The very first trial")), "{:?}", slow.warnings);
    assert!(!plain.warnings.iter().any(|w| w.contains("very first")), "{:?}", plain.warnings);
    assert_eq!(slow.sentence(), plain.sentence());
}

#[test]
fn all_of_one_before_all_of_the_other_gets_no_verdict() {
    let rows = |block: &dyn Fn(usize) -> String| {
        let row =
            |i: usize| format!("{},{},{},{}\n", block(i), i + 1, if i < 8 { "A" } else { "B" }, 500 + i);
        "block,position,cell,value\n".to_owned() + &(0..16).map(row).collect::<String>()
    };
    for text in [rows(&|_| "1".to_owned()), rows(&|i| (i / 4).to_string()), rows(&|_| String::new())] {
        let a = judged(&text, 0.03, false);
        assert_eq!((a.comparisons[0].verdict, a.order.light), (Verdict::Invalid, Light::Amber));
        assert!(a.sentence().starts_with("Not valid: not counterbalanced"), "{}", a.sentence());
        assert!(a.sentence().contains("a drift can not be told from an effect"));
        assert_eq!(a.comparisons[0].unblocked.as_ref().unwrap().label, "not counterbalanced");
    }
    let (code, out, _) = command(&[], &rows(&|_| String::new()));
    assert!(code == Some(0) && out.contains("no verdict follows"), "{out}");
}

#[test]
fn what_the_caller_knows_makes_it_invalid() {
    let table = Table::read(of_log_ratios(&[0.05; 6]).as_bytes(), None).unwrap();
    let why = "scheduler changed to bfq during trial 7 (another program?)";
    let told = Circumstances { invalid: Some(why.to_owned()), ..Circumstances::default() };
    let a = analyse(&table.question(0.03, false), &table.observations, &told);
    assert!(a.invalid() && !a.decided());
    assert_eq!(a.sentence(), format!("Not valid: {why}."));
}

#[test]
fn a_table_that_can_not_be_read_says_where_and_what() {
    for (text, said) in [
        (
            "block,position,cell,value\n1,1,A,500,3\n",
            "line 2: 5 fields, the header has 4; numbers have a decimal point",
        ),
        ("block,position,cell,value\n1,1,A,\"500,3\"\n", "line 2: value 500,3: numbers have a decimal point"),
        ("block;position;cell;value\n1;1;A;5\n", "columns are separated by commas"),
        ("block,position,cell,value\n1,1,A,0\n", "line 2: value 0: readings"),
        ("block,position,cell,value\n1,1,A,fast\n", "line 2: value fast: not a number"),
        ("block,position,cell,value\n1,1,A,nan\n", "line 2: value nan: not a number"),
        ("block,position,cell,value\nx,1,A,5\n", "line 2: block x"),
        ("block,position,cell,value\n1,1,A,5\n1,1,A,6\n", "line 3: block 1 position 1"),
        ("block,position,cell,value,role\n1,1,A,5,warmup\n", "line 2: role warmup"),
        ("block,position,cell,value\n1,1,A,5\n", "only the cell A in it"),
        ("", "no column cell"),
        ("block,position,cell,value,void\n1,1,A,5,maybe\n", "line 2: void maybe: it is yes"),
        ("number,block,position,cell,value\n1,1,1,A,5\n1,1,2,B,5\n", "line 3: number 1 is that of another"),
        ("number,block,position,cell,value\n1,1,1,A,5\n,1,2,B,5\n", "line 3: no number"),
        ("# blktune.trials/1\n# margin: 99%\ncell,value\n", "line 2: margin: 99%: it is from 0.5% to 50%"),
        ("# blktune.trials/1\n# blocks: few\ncell,value\n", "line 2: blocks few: not a whole number"),
        ("# blktune.trials/1\n# ended: badly\ncell,value\n", "line 2: ended: badly"),
        ("# blktune.trials/1\n# cell: A\n# cell: A\ncell,value\n", "line 3: cell: A is there twice"),
        (
            "# blktune.trials/1\n# cell: A\n# cell: B\ncell,value\nC,5\n",
            "line 5: cell C: it is none of those",
        ),
        ("# blktune.trials/1\n# cell: A\n# cell: B\nblock,value\n", "line 4: no column cell"),
        ("# blktune.trials/1\n# cell: A\n# cell: B\ncell,value\n", "no trial in it"),
    ] {
        let (code, out, err) = command(&["--json"], text);
        assert_eq!((code, &*out), (Some(2), ""), "{text:?}");
        assert!(err.contains(said), "{text:?}: {err}");
    }
    let (code, _, err) = command(&["--baseline", "C"], &of_log_ratios(&[0.0; 6]));
    assert!(code == Some(2) && err.contains("no cell C: there are A, B"), "{err}");
    let (code, _, err) = command(&["--margin", "3,5%"], "");
    assert!(code == Some(2) && err.contains("decimal point"), "{err}");
}

#[test]
fn options_go_over_what_the_table_says_and_other_comments_say_nothing() {
    let rows = of_log_ratios(&[0.02, 0.021, 0.019, 0.02, 0.022, 0.018]);
    let said = "# blktune.trials/1\n# device: sda\n# margin: 1%\n# blocks: 8\n# ended: stopped\n";
    for (head, args, verdict) in [
        (said, &[][..], "Preliminary (6 of 8 blocks); stopped by the user."),
        (said, &["--adaptive"], "B is faster by at least 1 %"),
        (said, &["--adaptive", "--margin", "3%"], "Equivalent within ±3 %"),
        ("# margin: 1%\n# blocks: 8\n", &[], "Equivalent within ±3 %"),
    ] {
        let (code, out, err) = command(args, &format!("{head}{rows}"));
        assert!(code == Some(0) && out.contains(verdict), "{args:?} {head}: {out}{err}");
    }
}

#[test]
fn a_terminal_without_utf8_gets_ascii() {
    let (mut c, _home) = blktune();
    let out =
        c.env("LC_ALL", "C").args(["analyse", "-"]).write_stdin(of_log_ratios(&[0.05; 6])).output().unwrap();
    assert!(out.status.success() && out.stdout.is_ascii());
    assert!(String::from_utf8(out.stdout).unwrap().contains("CI +5.1..+5.1 %"));
}

fn readings() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(-0.2f64..0.2, 24..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn swapped_cells_mirror_the_verdict_and_a_factor_changes_nothing(logs in readings()) {
        let blocks = logs.len() / 4;
        let of = |factor: f64| table(blocks, false, |b, i, _| factor * logs[(b - 1) * 4 + i - 1].exp());
        let text = of(500.0);
        let told = Circumstances::default();
        let with = |text: &str, baseline: &str| {
            let table = Table::read(text.as_bytes(), Some(baseline)).unwrap();
            analyse(&table.question(0.03, false), &table.observations, &told).comparisons.remove(0)
        };
        let (one, other, scaled) = (with(&text, "A"), with(&text, "B"), with(&of(1e9), "A"));
        let mirrored = match one.verdict {
            Verdict::Better => Verdict::Worse,
            Verdict::Worse => Verdict::Better,
            same => same,
        };
        prop_assert_eq!(other.verdict, mirrored);
        prop_assert_eq!(scaled.verdict, one.verdict);
        prop_assert!((one.ratio.unwrap() * other.ratio.unwrap() - 1.0).abs() < 1e-9);
        prop_assert!((one.ratio.unwrap() - scaled.ratio.unwrap()).abs() < 1e-9);
    }

    #[test]
    fn no_numbers_make_it_panic(values in prop::collection::vec(prop::num::f64::POSITIVE, 24..40)) {
        let text = table(values.len() / 4, true, |b, i, _| values[((b - 1) * 4 + i) % values.len()].max(f64::MIN_POSITIVE));
        if let Ok(table) = Table::read(text.as_bytes(), None) {
            for adaptive in [false, true] {
                let question = table.question(0.03, adaptive);
                let a = analyse(&question, &table.observations, &Circumstances::default());
                prop_assert!(!a.sentence().is_empty() && !a.sentence().contains("NaN"));
                let _ = live(&question, &table.observations, &Circumstances::default());
            }
        }
    }

    #[test]
    fn no_bytes_make_it_panic(rows in "(# blktune.trials/1\n(# (cell|margin|blocks|block_trials|block_s|seed|ended|remark|invalid): [0-9AB%.-]{0,4}\n){0,4})?(block,position,cell,value,role\n)?([0-9a-cA-C,.\"\\-]{0,12}\n){0,12}", raw: Vec<u8>) {
        for bytes in [rows.as_bytes(), &raw] {
            if let Ok(table) = Table::read(bytes, None) {
                let _ = analyse(&table.question(0.03, false), &table.observations, &table.circumstances());
            }
        }
    }
}

#[test]
fn typical_block_and_mean_disagree_only_by_what_matters() {
    // Half the margin of 3 % is 1.48 % in log units.
    for (d, disagree, why) in [
        ([-0.001, -0.001, -0.001, -0.001, -0.001, 0.010], false, "opposite sides of 0, and both at it"),
        ([0.001, 0.001, 0.001, 0.001, 0.001, -0.010], false, "the same mirrored"),
        ([-0.001, -0.001, -0.001, -0.001, -0.001, 0.120], true, "opposite, by 2 %"),
        ([0.100, 0.100, 0.100, 0.100, 0.100, 0.220], true, "one side, by 2 %"),
        ([0.100, 0.100, 0.100, 0.100, 0.100, 0.170], false, "one side, by 1.2 %"),
    ] {
        let a = judged(&of_log_ratios(&d), 0.03, false);
        let c = &a.comparisons[0];
        assert_eq!(c.typical_and_mean_disagree, disagree, "{why}: {:?} {:?}", c.ratio, c.hodges_lehmann);
        let told = a.warnings.iter().any(|w| w.contains("typical block and mean disagree"));
        assert_eq!(told, disagree, "{why}");
    }
}
