//! What three kernels answered to some six thousand writes, each played to the outcome logic by a queue that answers so.
//!
//! The rules that the outcomes are held against are stated here anew, not taken from the library.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::path::PathBuf;

use blktune::sys::attr::AttrError;
use blktune::sys::name::KernelName;
use blktune::sys::queue::{Attribute, QueueState};
use blktune::tuning::apply::{Applied, Cause, apply};
use blktune::tuning::change::{Change, Outcome};
use blktune::tuning::control::QueueControl;
use blktune::tuning::rounding;

/// One write that was tried.
#[derive(Debug)]
struct Row {
    line: String,
    kernel: String,
    kinds: Vec<String>,
    test: String,
    scheduler: String,
    attr: String,
    before: String,
    /// As `set` would be told it: without the line end that ends a write.
    requested: String,
    errno: String,
    readback: String,
    effects: BTreeMap<String, (Option<String>, Option<String>)>,
}

fn unescape(text: &str) -> String {
    if let Some(n) = text.strip_prefix('(').and_then(|t| t.strip_suffix(" bytes)")) {
        return "1".repeat(n.parse().unwrap());
    }
    let text = text.replace("\\x00", "\0").replace("\\n", "\n").replace("\\t", "\t");
    text.strip_suffix('\n').unwrap_or(&text).to_owned()
}

fn effects(text: &str) -> BTreeMap<String, (Option<String>, Option<String>)> {
    let value = |t: &str| (t != "(absent)" && !t.starts_with('!')).then(|| t.to_owned());
    text.split("; ")
        .filter(|t| !t.is_empty() && !t.starts_with("bdi/"))
        .map(|t| {
            if let Some(gone) = t.strip_prefix('-') {
                return (gone.to_owned(), (Some("1".to_owned()), None));
            }
            let (name, moved) = t.split_once(':').unwrap();
            let (from, to) = moved.split_once("->").unwrap();
            (name.to_owned(), (value(from), value(to)))
        })
        .collect()
}

fn rows() -> Vec<Row> {
    let packed = include_bytes!("../fixtures/write-behaviour.tsv.gz");
    let mut text = String::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut text).unwrap();
    text.lines()
        .skip(1)
        .map(|line| {
            let f: Vec<&str> = line.split('\t').collect();
            assert_eq!(f.len(), 10, "{line}");
            Row {
                line: line.to_owned(),
                kernel: f[0].to_owned(),
                kinds: f[1].split(',').map(str::to_owned).collect(),
                test: f[2].to_owned(),
                scheduler: f[3].to_owned(),
                attr: f[4].to_owned(),
                before: if f[5] == "*" { placeholder(f[4], f[3]) } else { f[5].to_owned() },
                requested: unescape(f[6]),
                errno: f[7].to_owned(),
                readback: f[8].to_owned(),
                effects: effects(f[9]),
            }
        })
        .collect()
}

/// A value to start from where the table does not tell: none that was tried.
fn placeholder(attr: &str, scheduler: &str) -> String {
    match attr {
        "scheduler" => listing(scheduler),
        "write_cache" => "write back".to_owned(),
        _ => "61".to_owned(),
    }
}

fn listing(active: &str) -> String {
    let all = ["none", "mq-deadline", "kyber", "bfq"];
    all.map(|s| if s == active { format!("[{s}]") } else { s.to_owned() }).join(" ")
}

/// A queue that answers one write as a kernel did.
struct Scripted {
    now: RefCell<QueueState>,
    before: QueueState,
    after: QueueState,
    row_name: String,
    requested: String,
    errno: Option<i32>,
    writes: RefCell<Vec<(String, String)>>,
}

fn put(state: &mut QueueState, name: &str, value: Option<&str>, writable: bool) {
    let value = value.filter(|v| !v.starts_with('!')).map(str::to_owned);
    state.attributes.insert(name.to_owned(), Attribute { value, writable });
}

impl Scripted {
    fn new(row: &Row, greatest: Option<u64>) -> Self {
        let mut before = QueueState::default();
        // No queue is empty; an empty one is a device that is gone.
        put(&mut before, "nr_zones", Some("0"), false);
        if row.scheduler != "-" {
            put(&mut before, "scheduler", Some(&listing(&row.scheduler)), true);
        }
        if let Some(most) = greatest {
            let name =
                if row.attr == "max_sectors_kb" { "max_hw_sectors_kb" } else { "discard_max_hw_bytes" };
            put(&mut before, name, Some(&most.to_string()), false);
        }
        let below_queue = !row.attr.starts_with("bdi/") && !row.attr.starts_with("device/");
        if row.errno != "open:ENOENT" && below_queue {
            put(&mut before, &row.attr, Some(&row.before), row.errno != "open:EACCES");
        }
        let mut after = before.clone();
        if row.errno == "OK" && below_queue {
            put(&mut after, &row.attr, Some(&row.readback), true);
        }
        for (name, (from, to)) in &row.effects {
            let writable = name != "discard_granularity";
            let side = |state: &mut QueueState, value: &Option<String>| match value {
                // Unreadable and absent are both nothing that is read.
                None => drop(state.attributes.remove(name)),
                Some(v) => put(state, name, Some(v), writable),
            };
            side(&mut before, from);
            side(&mut after, to);
        }
        let errno = match row.errno.as_str() {
            "EINVAL" => Some(libc::EINVAL),
            "ERANGE" => Some(libc::ERANGE),
            _ => None,
        };
        Self {
            now: RefCell::new(before.clone()),
            before,
            after,
            row_name: row.attr.clone(),
            requested: row.requested.clone(),
            errno,
            writes: RefCell::default(),
        }
    }
}

impl Scripted {
    /// After a switch to `none` the number that reads is written anew, by way of the one below it.
    fn renew(&self, value: &str) {
        let mut now = self.now.borrow_mut();
        assert_eq!(now.effective("scheduler").as_deref(), Some("none"), "nr_requests={value}");
        let (number, reads) = (self.after.number("nr_requests").unwrap(), now.number("nr_requests").unwrap());
        let due = if reads == number { number - 1 } else { number };
        assert_eq!(value, due.to_string(), "{reads} of {number} is read");
        put(&mut now, "nr_requests", Some(value), true);
    }
}

impl QueueControl for Scripted {
    fn read(&self) -> QueueState {
        self.now.borrow().clone()
    }

    fn write(&self, name: &str, value: &str) -> Result<(), AttrError> {
        if name == "nr_requests" && self.row_name == "scheduler" {
            self.renew(value);
            return Ok(());
        }
        self.writes.borrow_mut().push((name.to_owned(), value.to_owned()));
        assert_eq!(
            (name, value),
            (self.row_name.as_str(), self.requested.as_str()),
            "nothing else was to be written"
        );
        if let Some(errno) = self.errno {
            return Err(AttrError {
                path: PathBuf::from(name),
                value: Some(value.to_owned()),
                source: io::Error::from_raw_os_error(errno),
            });
        }
        *self.now.borrow_mut() = self.after.clone();
        Ok(())
    }
}

/// What has to come of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// No value of that attribute, or no attribute to write: refused without a write.
    NoValue,
    /// It reads so already.
    Unchanged,
    /// The kernel said no.
    KernelRefused,
    /// The kernel said yes and did it.
    Applied,
    /// The kernel said yes and did a limited form of it.
    Clamped,
    /// The kernel said yes and did nothing, which no limit explains.
    Lie,
}

fn digits(text: &str) -> bool {
    (1..=20).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
}

/// Whether a text is a value of the attribute's sort.
fn is_value(row: &Row) -> bool {
    let v = row.requested.as_str();
    match row.attr.as_str() {
        _ if row.attr.starts_with("bdi/")
            || row.attr.starts_with("device/")
            || row.errno.starts_with("open:") =>
        {
            false
        }
        "scheduler" => {
            let word = !v.is_empty() && v.bytes().all(|b| b.is_ascii_lowercase() || b"-_".contains(&b));
            // A bare `none` is no list to choose from.
            row.before != "none" && word && v.len() < 32 && (v == "none" || !v.starts_with("none"))
        }
        "write_cache" => ["write back", "write through", "none"].contains(&v),
        "wbt_lat_usec" | "io_poll_delay" => digits(v.strip_prefix('-').unwrap_or(v)),
        _ => digits(v),
    }
}

/// Whether a value reads as the one that was asked for.
fn same(attr: &str, asked: &str, read: &str) -> bool {
    let active = |list: &str| {
        let open = list.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        open.map_or(list.to_owned(), |(name, _)| name.to_owned())
    };
    match attr {
        "scheduler" => active(read) == asked || (asked == "deadline" && active(read) == "mq-deadline"),
        "write_cache" => read == asked || (asked == "none" && read == "write through"),
        _ => {
            read == asked || matches!((asked.parse::<u128>(), read.parse::<u128>()), (Ok(a), Ok(b)) if a == b)
        }
    }
}

fn due(row: &Row, greatest: Option<u64>) -> Due {
    if !is_value(row) {
        // What it reads already is no question, even where nothing can be chosen.
        let already = row.attr == "scheduler" && row.before == "none" && row.requested == "none";
        return if already { Due::Unchanged } else { Due::NoValue };
    }
    if same(&row.attr, &row.requested, &row.before) {
        return Due::Unchanged;
    }
    if row.errno != "OK" {
        return Due::KernelRefused;
    }
    if same(&row.attr, &row.requested, &row.readback) {
        return Due::Applied;
    }
    if row.before != row.readback {
        return Due::Clamped;
    }
    let asked: u128 = row.requested.parse().unwrap_or(0);
    let read: u128 = row.readback.parse().unwrap_or(0);
    let explained = match row.attr.as_str() {
        "rotational"
        | "add_random"
        | "iostats"
        | "iostats_passthrough"
        | "stable_writes"
        | "iosched/front_merges"
        | "iosched/low_latency"
        | "iosched/strict_guarantees" => asked > 1 && read == 1,
        "nr_requests" => asked < 4 && read == 4,
        "max_sectors_kb" => {
            asked == 0 || greatest.is_some_and(|most| asked > read && read + 4 > u128::from(most))
        }
        "discard_max_bytes" => greatest.is_some_and(|most| asked > read && read == u128::from(most)),
        "wbt_lat_usec" => row.requested == "-1",
        // Accepted, and no effect: what was asked for is not what is.
        "rq_affinity" => !(3..).contains(&asked),
        "io_poll" | "io_poll_delay" | "write_cache" => false,
        other => panic!("{other} stayed as it was and this test does not know why: {}", row.line),
    };
    if explained { Due::Clamped } else { Due::Lie }
}

/// The most that the driver of a device of these kinds takes, which the table tells only by what was read.
fn greatest(rows: &[Row], row: &Row) -> Option<u64> {
    if row.attr != "max_sectors_kb" && row.attr != "discard_max_bytes" {
        return None;
    }
    rows.iter()
        .filter(|r| r.kernel == row.kernel && r.attr == row.attr && r.kinds.contains(&row.kinds[0]))
        .flat_map(|r| [r.before.parse::<u64>().ok(), r.readback.parse().ok()])
        .flatten()
        .max()
}

fn play(row: &Row, greatest: Option<u64>) -> (Scripted, Applied) {
    let queue = Scripted::new(row, greatest);
    let change = Change { name: row.attr.clone(), requested: row.requested.clone() };
    let applied = apply(&queue, &KernelName::new("sda").unwrap(), &[change], &mut |_, _| Ok(()));
    (queue, applied)
}

/// Whether the report is the right one; counts what it was.
fn check(row: &Row, due: Due, queue: &Scripted, applied: &Applied) {
    let c = &applied.report.changes[0];
    let outcome = match due {
        Due::NoValue | Due::KernelRefused | Due::Lie => Outcome::Refused,
        Due::Unchanged => Outcome::Unchanged,
        Due::Applied => Outcome::Applied,
        Due::Clamped => Outcome::Clamped,
    };
    let line = &row.line;
    let said = c.message.as_deref().unwrap_or_default();
    assert_eq!(c.outcome, outcome, "{due:?}: {line}\n{said}");
    let refused = outcome == Outcome::Refused;
    assert_eq!(applied.cause, refused.then_some(Cause::Value), "{line}");
    assert_eq!(applied.report.rolled_back, refused, "{line}");
    assert_eq!(applied.report.not_restored, Vec::<String>::new(), "{line}");
    let written = usize::from(!matches!(due, Due::NoValue | Due::Unchanged));
    assert_eq!(queue.writes.borrow().len(), written, "{line}");
    match due {
        Due::KernelRefused if row.errno == "ERANGE" => {
            assert!(said.contains("more than the kernel can hold"), "{said}");
        }
        Due::KernelRefused => {
            let right = said.contains("does not take") || said.contains("the kernel offers");
            assert!(right, "{line}: {said}");
        }
        Due::Lie => assert!(said.contains("took it and nothing changed"), "{line}: {said}"),
        Due::NoValue | Due::Clamped => assert!(!said.is_empty(), "{line}"),
        Due::Unchanged | Due::Applied => {}
    }
    if refused || due == Due::Unchanged {
        assert_eq!(queue.read(), queue.before, "{line}");
        assert_eq!(applied.report.side_effects, [], "{line}");
        return;
    }
    assert_eq!(c.effective, queue.after.effective(&row.attr), "{line}");
    let told: BTreeMap<_, _> = applied
        .report
        .side_effects
        .iter()
        .map(|s| (s.name.clone(), (s.before.clone(), s.after.clone())))
        .collect();
    assert_eq!(told, row.effects, "{line}");
}

#[test]
fn every_value_that_was_tried_on_three_kernels_has_its_outcome() {
    let all = rows();
    let mut counts: BTreeMap<&str, [usize; 6]> = BTreeMap::new();
    // Texts that a kernel took and a set does not: blanks around a value, a sign, letters behind a number.
    let mut stricter = 0;
    for row in all.iter().filter(|r| r.test == "value") {
        let most = greatest(&all, row);
        let due = due(row, most);
        let (queue, applied) = play(row, most);
        check(row, due, &queue, &applied);
        counts.entry(&row.kernel).or_default()[due as usize] += 1;
        let in_queue = !row.attr.starts_with("bdi/") && !row.attr.starts_with("device/");
        stricter += usize::from(due == Due::NoValue && in_queue && row.errno == "OK");
    }
    // In the order of `Due`.
    let expected = [
        ("6.1.192", [791, 72, 239, 560, 357, 49]),
        ("6.12.117", [991, 79, 232, 563, 542, 96]),
        ("6.18.44", [549, 25, 153, 269, 192, 36]),
    ];
    assert_eq!(counts, BTreeMap::from(expected));
    assert_eq!(counts.values().flatten().sum::<usize>(), 5795, "every row was played");
    assert_eq!(stricter, 502);
}

#[test]
fn what_is_told_before_a_write_is_what_three_kernels_then_read() {
    let all = rows();
    let (mut told, mut left) = (0, 0);
    for row in all.iter().filter(|r| r.test == "value" && r.errno == "OK") {
        let most = greatest(&all, row);
        // What the kernel ignores is refused after the write, and no limit of a value.
        if !is_value(row) || due(row, most) == Due::Lie {
            continue;
        }
        let queue = Scripted::new(row, most);
        let change = Change { name: row.attr.clone(), requested: row.requested.clone() };
        let expected = rounding::expected(&change, &queue.before);
        let read = queue.after.effective(&row.attr).unwrap();
        if expected == read {
            told += 1;
            continue;
        }
        // What only the kernel knows is left as it was asked, and never guessed.
        assert!(same(&row.attr, &row.requested, &expected), "{expected}: {}", row.line);
        left += 1;
    }
    assert_eq!((told, left), (2441, 212));
}

#[test]
fn every_switch_moves_what_it_moved_on_three_kernels_and_all_of_it_is_told() {
    let all = rows();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for row in all.iter().filter(|r| r.test != "value" && r.errno == "OK") {
        let due = due(row, None);
        let (queue, applied) = play(row, None);
        check(row, due, &queue, &applied);
        *counts.entry(&row.test).or_default() += 1;
    }
    assert_eq!(
        counts,
        BTreeMap::from([
            ("custom-switch", 58),
            ("rotflip", 26),
            ("rotflip-reselect", 14),
            ("switch", 164),
            ("wbt-manual-switch", 42),
        ])
    );
}

#[test]
fn no_two_kernels_answers_are_taken_for_one() {
    // A table that was packed wrongly would still be replayed.
    let all = rows();
    let kernels: BTreeSet<&str> = all.iter().map(|r| r.kernel.as_str()).collect();
    assert_eq!(kernels.into_iter().collect::<Vec<_>>(), ["6.1.192", "6.12.117", "6.18.44"]);
    assert_eq!(all.len(), 6147);
}
