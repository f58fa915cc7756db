//! A queue that behaves as Linux 6.18's loop driver does, with a cache and discards besides, and fails on demand.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use blktune::sys::attr::AttrError;
use blktune::sys::queue::{Attribute, QueueState};
use blktune::tuning::control::QueueControl;

const SCHEDULERS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];
const FLAGS: [&str; 5] = ["rotational", "add_random", "iostats", "iostats_passthrough", "stable_writes"];
const MOST_SECTORS_KB: u64 = 1280;
const MOST_DISCARD: u64 = 1 << 30;
const TICK_MS: u64 = 4;

/// What goes wrong with one write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The kernel answers with an errno and changes nothing.
    Refuse(i32),
    /// The kernel claims success and changes nothing.
    Lie,
    /// The kernel answers with an errno, having changed the value all the same.
    HalfDone(i32),
}

/// The queue.
#[derive(Debug)]
pub(crate) struct FakeQueue(RefCell<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    scheduler: String,
    values: BTreeMap<String, u64>,
    /// How many I/Os the driver takes at once; not to be seen.
    tags: u64,
    iosched: BTreeMap<String, u64>,
    write_back: bool,
    wbt: u64,
    /// Set by the first write of `wbt_lat_usec`, and never unset; not to be seen.
    wbt_by_hand: bool,
    writes: Vec<(String, String)>,
    faults: BTreeMap<usize, Fault>,
    every: Option<(usize, usize, Fault)>,
    broken_from: Option<usize>,
    stuck: Option<(String, usize)>,
    late_depth: bool,
}

impl FakeQueue {
    pub(crate) fn new() -> Self {
        let values = [
            ("rotational", 0),
            ("add_random", 0),
            ("iostats", 1),
            ("iostats_passthrough", 0),
            ("stable_writes", 0),
            ("read_ahead_kb", 64),
            ("nr_requests", 128),
            ("max_sectors_kb", MOST_SECTORS_KB),
            ("discard_max_bytes", MOST_DISCARD),
            ("discard_granularity", 4096),
            ("nomerges", 0),
            ("rq_affinity", 1),
            ("io_timeout", 30_000),
        ];
        Self(RefCell::new(Inner {
            scheduler: "none".to_owned(),
            values: values.map(|(n, v)| (n.to_owned(), v)).into(),
            tags: 128,
            iosched: BTreeMap::new(),
            write_back: true,
            wbt: 2000,
            wbt_by_hand: false,
            writes: Vec::new(),
            faults: BTreeMap::new(),
            every: None,
            broken_from: None,
            stuck: None,
            late_depth: false,
        }))
    }

    /// As under Linux 6.1: a write of `nr_requests` gives `iosched/async_depth` the number that was there before it.
    pub(crate) fn late_depth(&self) {
        self.0.borrow_mut().late_depth = true;
    }

    /// The nth write from now on (0 is the next) fails that way.
    pub(crate) fn fail(&self, nth: usize, fault: Fault) {
        let mut q = self.0.borrow_mut();
        let at = q.writes.len() + nth;
        q.faults.insert(at, fault);
    }

    /// From now on one write of `period` fails that way, the first of them after `first` others.
    pub(crate) fn fail_every(&self, period: usize, first: usize, fault: Fault) {
        let mut q = self.0.borrow_mut();
        q.every = Some((period, (q.writes.len() + first) % period, fault));
    }

    /// The nth write from now on and all after it are refused.
    pub(crate) fn break_from(&self, nth: usize) {
        let mut q = self.0.borrow_mut();
        q.broken_from = Some(q.writes.len() + nth);
    }

    /// It takes writes again.
    pub(crate) fn mend(&self) {
        self.0.borrow_mut().broken_from = None;
    }

    /// This attribute takes so many writes more, and then none.
    pub(crate) fn stick(&self, name: &str, after: usize) {
        self.0.borrow_mut().stuck = Some((name.to_owned(), after));
    }

    /// All writes that were tried, in order.
    pub(crate) fn writes(&self) -> Vec<(String, String)> {
        self.0.borrow().writes.clone()
    }

    /// Somebody else writes.
    pub(crate) fn foreign(&self, name: &str, value: &str) {
        self.0.borrow_mut().store(name, value).unwrap();
    }

    /// The driver chose a value that the kernel would take from nobody else.
    pub(crate) fn driver_chose(&self, name: &str, value: u64) {
        self.0.borrow_mut().values.insert(name.to_owned(), value);
    }

    /// Whether it takes as many I/Os at once as it says: always so under a scheduler, which brings tags of its own.
    pub(crate) fn is_true(&self) -> bool {
        let q = self.0.borrow();
        q.scheduler != "none" || q.values["nr_requests"] == q.tags
    }

    pub(crate) fn get(&self, name: &str) -> String {
        self.read().effective(name).unwrap()
    }
}

impl Inner {
    fn store(&mut self, name: &str, value: &str) -> Result<(), i32> {
        let number = || {
            let digits = value.strip_prefix('+').unwrap_or(value);
            digits.parse::<u64>().map_err(|_| libc::EINVAL)
        };
        match name {
            "scheduler" => self.switch(value),
            "write_cache" => {
                self.write_back = match value {
                    "write back" => true,
                    "write through" | "none" => false,
                    _ => return Err(libc::EINVAL),
                };
                self.ratchet();
                Ok(())
            }
            flag if FLAGS.contains(&flag) => {
                self.values.insert(name.to_owned(), u64::from(number()? != 0));
                self.ratchet();
                Ok(())
            }
            "max_sectors_kb" => {
                let kib = match number()? {
                    0 => MOST_SECTORS_KB,
                    1..4 => return Err(libc::EINVAL),
                    n => n.min(MOST_SECTORS_KB),
                };
                self.values.insert(name.to_owned(), kib);
                self.ratchet();
                Ok(())
            }
            "discard_max_bytes" => {
                let bytes = number()?;
                if bytes != 0 && (self.values["discard_granularity"] == 0 || bytes % 4096 != 0) {
                    return Err(libc::EINVAL);
                }
                self.values.insert(name.to_owned(), bytes.min(MOST_DISCARD));
                if bytes == 0 {
                    self.values.insert("discard_granularity".to_owned(), 0);
                }
                self.ratchet();
                Ok(())
            }
            "wbt_lat_usec" => {
                let default = if self.values["rotational"] == 1 { 75_000 } else { 2000 };
                self.wbt = if value == "-1" { default } else { number()? };
                self.wbt_by_hand = true;
                Ok(())
            }
            "nomerges" => {
                let n = number()?;
                self.values.insert(name.to_owned(), if n > 2 { 1 } else { n });
                Ok(())
            }
            "rq_affinity" => {
                let n = number()?;
                if n <= 2 {
                    self.values.insert(name.to_owned(), n);
                }
                Ok(())
            }
            "io_timeout" => {
                let ms = number()?;
                if ms == 0 {
                    return Err(libc::EINVAL);
                }
                self.values.insert(name.to_owned(), ms.next_multiple_of(TICK_MS));
                Ok(())
            }
            "read_ahead_kb" => {
                let kib = number()?;
                if kib > u64::from(u32::MAX) {
                    return Err(libc::EINVAL);
                }
                self.values.insert(name.to_owned(), kib - kib % (rustix::param::page_size() as u64 / 1024));
                Ok(())
            }
            "nr_requests" => {
                let n = number()?.max(4);
                if n > if self.scheduler == "none" { 128 } else { 2048 } {
                    return Err(libc::EINVAL);
                }
                let was = self.values.insert(name.to_owned(), n);
                // Not by a write of the number that reads, and not by a switch of scheduler.
                if self.scheduler == "none" && was != Some(n) {
                    self.tags = n;
                }
                if let Some(depth) = self.iosched.get_mut("async_depth") {
                    *depth = was.filter(|_| self.late_depth).unwrap_or(n);
                }
                Ok(())
            }
            _ => {
                let tunable = name.strip_prefix("iosched/").ok_or(libc::EACCES)?;
                if !self.iosched.contains_key(tunable) {
                    return Err(libc::ENOENT);
                }
                self.tune(tunable, number()?);
                Ok(())
            }
        }
    }

    /// What every write of a limit does to read-ahead, also that of the value it has.
    fn ratchet(&mut self) {
        let floor = if self.values["rotational"] == 1 { self.values["max_sectors_kb"] * 2 } else { 0 };
        let now = self.values["read_ahead_kb"];
        self.values.insert("read_ahead_kb".to_owned(), now.max(128).max(floor));
    }

    fn tune(&mut self, tunable: &str, n: u64) {
        let mut put = |name: &str, n: u64| {
            self.iosched.insert(name.to_owned(), n);
        };
        match tunable {
            "read_expire" | "write_expire" => put(tunable, n.next_multiple_of(TICK_MS)),
            "front_merges" => put(tunable, n.min(1)),
            "async_depth" => put(tunable, n.max(1)),
            "slice_idle" => {
                put("slice_idle", n);
                put("slice_idle_us", n * 1000);
            }
            "slice_idle_us" => {
                put("slice_idle", n / 1000);
                put("slice_idle_us", n);
            }
            "strict_guarantees" => {
                put(tunable, n.min(1));
                put("slice_idle", 8);
                put("slice_idle_us", 8000);
            }
            _ => put(tunable, n),
        }
    }

    fn switch(&mut self, value: &str) -> Result<(), i32> {
        let to = if value.starts_with("none") {
            "none"
        } else if value == "deadline" {
            "mq-deadline"
        } else {
            SCHEDULERS.into_iter().find(|s| *s == value.trim()).ok_or(libc::EINVAL)?
        };
        if to == self.scheduler {
            return Ok(());
        }
        to.clone_into(&mut self.scheduler);
        let n = if to == "none" { 128 } else { 256 };
        self.values.insert("nr_requests".to_owned(), n);
        let tunables: &[(&str, u64)] = match to {
            "mq-deadline" => &[("read_expire", 500), ("async_depth", 256), ("front_merges", 1)],
            "kyber" => &[("read_lat_nsec", 2_000_000), ("async_depth", 192)],
            "bfq" => &[("slice_idle", 8), ("slice_idle_us", 8000), ("strict_guarantees", 0)],
            _ => &[],
        };
        self.iosched = tunables.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect();
        Ok(())
    }
}

impl QueueControl for FakeQueue {
    fn read(&self) -> QueueState {
        let q = self.0.borrow();
        let list: Vec<String> = SCHEDULERS
            .iter()
            .map(|s| if *s == q.scheduler { format!("[{s}]") } else { (*s).to_owned() })
            .collect();
        let mut state = QueueState::default();
        let mut put = |name: &str, value: String, writable: bool| {
            state.attributes.insert(name.to_owned(), Attribute { value: Some(value), writable });
        };
        put("scheduler", list.join(" "), true);
        let wbt = if q.scheduler == "bfq" && !q.wbt_by_hand { 0 } else { q.wbt };
        put("wbt_lat_usec", wbt.to_string(), true);
        put("write_cache", if q.write_back { "write back" } else { "write through" }.to_owned(), true);
        put("logical_block_size", "512".to_owned(), false);
        put("max_hw_sectors_kb", MOST_SECTORS_KB.to_string(), false);
        put("discard_max_hw_bytes", MOST_DISCARD.to_string(), false);
        for (name, value) in &q.values {
            put(name, value.to_string(), name != "discard_granularity");
        }
        for (name, value) in &q.iosched {
            put(&format!("iosched/{name}"), value.to_string(), true);
        }
        state
    }

    fn write(&self, name: &str, value: &str) -> Result<(), AttrError> {
        let mut q = self.0.borrow_mut();
        let nth = q.writes.len();
        q.writes.push((name.to_owned(), value.to_owned()));
        let fail = |errno| AttrError {
            path: PathBuf::from("queue").join(name),
            value: Some(value.to_owned()),
            source: io::Error::from_raw_os_error(errno),
        };
        if q.broken_from.is_some_and(|from| nth >= from) {
            return Err(fail(libc::EIO));
        }
        if let Some((_, left)) = q.stuck.as_mut().filter(|(stuck, _)| stuck == name) {
            if *left == 0 {
                return Err(fail(libc::EINVAL));
            }
            *left -= 1;
        }
        let regular = q.every.filter(|(period, at, _)| nth % period == *at).map(|(_, _, fault)| fault);
        match q.faults.remove(&nth).or(regular) {
            Some(Fault::Refuse(errno)) => Err(fail(errno)),
            Some(Fault::Lie) => Ok(()),
            Some(Fault::HalfDone(errno)) => {
                q.store(name, value).map_err(&fail)?;
                Err(fail(errno))
            }
            None => q.store(name, value).map_err(fail),
        }
    }
}
