//! A queue that behaves as Linux 6.18's loop driver does, and fails on demand.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use blktune::sys::attr::AttrError;
use blktune::sys::queue::{Attribute, QueueState};
use blktune::tuning::control::QueueControl;

const SCHEDULERS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];

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
    iosched: BTreeMap<String, u64>,
    wbt: u64,
    writes: Vec<(String, String)>,
    faults: BTreeMap<usize, Fault>,
    broken_from: Option<usize>,
}

impl FakeQueue {
    pub(crate) fn new() -> Self {
        let values =
            [("rotational", 0), ("read_ahead_kb", 64), ("nr_requests", 128), ("max_sectors_kb", 1280)];
        Self(RefCell::new(Inner {
            scheduler: "none".to_owned(),
            values: values.map(|(n, v)| (n.to_owned(), v)).into(),
            iosched: BTreeMap::new(),
            wbt: 2000,
            writes: Vec::new(),
            faults: BTreeMap::new(),
            broken_from: None,
        }))
    }

    /// The nth write from now on (0 is the next) fails that way.
    pub(crate) fn fail(&self, nth: usize, fault: Fault) {
        let mut q = self.0.borrow_mut();
        let at = q.writes.len() + nth;
        q.faults.insert(at, fault);
    }

    /// The nth write from now on and all after it are refused.
    pub(crate) fn break_from(&self, nth: usize) {
        let mut q = self.0.borrow_mut();
        q.broken_from = Some(q.writes.len() + nth);
    }

    /// All writes that were tried, in order.
    pub(crate) fn writes(&self) -> Vec<(String, String)> {
        self.0.borrow().writes.clone()
    }

    /// Somebody else writes.
    pub(crate) fn foreign(&self, name: &str, value: &str) {
        self.0.borrow_mut().store(name, value).unwrap();
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
            "rotational" => {
                let on = number()? != 0;
                self.values.insert(name.to_owned(), u64::from(on));
                let floor = if on { self.values["max_sectors_kb"] * 2 } else { 0 };
                let ra = self.values.get_mut("read_ahead_kb").unwrap();
                *ra = (*ra).max(128).max(floor);
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
                self.values.insert(name.to_owned(), n);
                if let Some(depth) = self.iosched.get_mut("async_depth") {
                    *depth = n;
                }
                Ok(())
            }
            _ => {
                let n = number()?;
                let tunable = name.strip_prefix("iosched/").ok_or(libc::EACCES)?;
                if !self.iosched.contains_key(tunable) {
                    return Err(libc::ENOENT);
                }
                self.iosched.insert(tunable.to_owned(), n);
                match tunable {
                    "slice_idle" => drop(self.iosched.insert("slice_idle_us".to_owned(), n * 1000)),
                    "slice_idle_us" => drop(self.iosched.insert("slice_idle".to_owned(), n / 1000)),
                    "strict_guarantees" => {
                        self.iosched.insert("slice_idle".to_owned(), 8);
                        self.iosched.insert("slice_idle_us".to_owned(), 8000);
                    }
                    _ => {}
                }
                Ok(())
            }
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
        self.wbt = if to == "bfq" { 0 } else { 2000 };
        let tunables: &[(&str, u64)] = match to {
            "mq-deadline" => &[("read_expire", 500), ("async_depth", 256)],
            "kyber" => &[("read_lat_nsec", 2_000_000)],
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
        let mut put = |name: String, value: String, writable: bool| {
            state.attributes.insert(name, Attribute { value: Some(value), writable });
        };
        put("scheduler".to_owned(), list.join(" "), true);
        put("wbt_lat_usec".to_owned(), q.wbt.to_string(), true);
        put("logical_block_size".to_owned(), "512".to_owned(), false);
        for (name, value) in &q.values {
            put(name.clone(), value.to_string(), true);
        }
        for (name, value) in &q.iosched {
            put(format!("iosched/{name}"), value.to_string(), true);
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
        match q.faults.remove(&nth) {
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
