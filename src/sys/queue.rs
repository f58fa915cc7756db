//! A device's queue as its attributes say it: every readable attribute, and the few that have a shape.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::attr;
use super::name::KernelName;
use super::root::SysRoot;

/// The schedulers a queue offers, from `queue/scheduler`: `[none] mq-deadline bfq`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SchedulerList {
    /// The one in brackets; `none` where the file is a bare `none`.
    pub active: String,
    /// All listed, the active one included, in the kernel's order. The kernel may load others by name
    /// (`NAME-iosched`), so absence is no proof.
    pub available: Vec<String>,
    /// False for a bare `none` without brackets (bio-based or old single-queue devices).
    pub changeable: bool,
}

impl SchedulerList {
    /// Parses the attribute. None for text that names no scheduler.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut active = None;
        let mut available = Vec::new();
        for word in text.split_ascii_whitespace() {
            let name = match word.strip_prefix('[').and_then(|w| w.strip_suffix(']')) {
                Some(inner) => {
                    active = Some(inner.to_owned());
                    inner
                }
                None => word,
            };
            if name.is_empty() {
                return None;
            }
            available.push(name.to_owned());
        }
        match active {
            Some(active) => Some(Self { active, available, changeable: true }),
            None if available.len() == 1 => {
                Some(Self { active: available[0].clone(), available, changeable: false })
            }
            None => None,
        }
    }
}

/// One attribute below `queue/` as read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// What it reads; None where the kernel refuses to read it (write-only, or `wbt_lat_usec` never set up).
    pub value: Option<String>,
    /// Whether the file's mode lets its owner write.
    pub writable: bool,
}

/// Everything below `queue/` at one moment, by name: `read_ahead_kb`, `iosched/slice_idle`.
///
/// `scheduler` is kept as the kernel prints it; [`QueueState::effective`] gives the active name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueState {
    /// Attributes by name, in name order.
    pub attributes: BTreeMap<String, Attribute>,
}

impl QueueState {
    /// Reads every attribute of a device's queue, about 48 files. Attributes that vanish meanwhile (a switch makes
    /// `iosched/` anew) are left out. Empty for a device without `queue/`.
    #[must_use]
    pub fn read(root: &SysRoot, name: &KernelName) -> Self {
        let mut state = Self::default();
        let dir = root.queue(name);
        state.read_dir(&dir, "");
        state.read_dir(&dir.join("iosched"), "iosched/");
        state
    }

    fn read_dir(&mut self, dir: &Path, prefix: &str) {
        let Ok(entries) = std::fs::read_dir(dir) else { return };
        for entry in entries.flatten() {
            if !entry.file_type().is_ok_and(|t| t.is_file()) {
                continue;
            }
            let Some(file) = entry.file_name().to_str().map(str::to_owned) else { continue };
            let path = entry.path();
            let value = match attr::read(&path) {
                Ok(v) => Some(v),
                Err(e) if matches!(e.errno(), Some(libc::ENOENT | libc::ENODEV)) => continue,
                Err(_) => None,
            };
            let writable = attr::writable_by_mode(&path);
            self.attributes.insert(format!("{prefix}{file}"), Attribute { value, writable });
        }
    }

    /// An attribute's value in the form it is written in: for `scheduler` the active name, else the text as read.
    /// None if the attribute is absent or can not be read.
    #[must_use]
    pub fn effective(&self, name: &str) -> Option<String> {
        let text = self.attributes.get(name)?.value.as_deref()?;
        if name == "scheduler" { SchedulerList::parse(text).map(|s| s.active) } else { Some(text.to_owned()) }
    }

    /// The schedulers offered; None for devices without the file.
    #[must_use]
    pub fn schedulers(&self) -> Option<SchedulerList> {
        SchedulerList::parse(self.attributes.get("scheduler")?.value.as_deref()?)
    }

    /// A numeric attribute; None if absent, unreadable or not a number.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<u64> {
        self.attributes.get(name)?.value.as_deref()?.trim().parse().ok()
    }

    /// What differs between two states in the form it is written in: name, before, after; absent is None.
    #[must_use]
    pub fn differences(&self, after: &QueueState) -> Vec<(String, Option<String>, Option<String>)> {
        let names: std::collections::BTreeSet<&String> =
            self.attributes.keys().chain(after.attributes.keys()).collect();
        names
            .into_iter()
            .filter_map(|n| {
                let (b, a) = (self.effective(n), after.effective(n));
                (b != a).then(|| (n.clone(), b, a))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_active_scheduler_is_right_in_every_form_the_kernel_prints() {
        let cases = [
            ("noop deadline [cfq]", "cfq", 3, true),
            ("[none] mq-deadline kyber bfq ", "none", 4, true),
            ("mq-deadline-nodefault [bfq] none", "bfq", 3, true),
            ("none", "none", 1, false),
        ];
        for (text, active, n, changeable) in cases {
            let s = SchedulerList::parse(text).unwrap();
            assert_eq!(
                (s.active.as_str(), s.available.len(), s.changeable),
                (active, n, changeable),
                "{text}"
            );
        }
        for bad in ["", "   ", "none bfq", "[] none"] {
            assert_eq!(SchedulerList::parse(bad), None, "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn parsing_never_panics_and_the_active_one_is_listed(s in ".*") {
            if let Some(l) = SchedulerList::parse(&s) {
                prop_assert!(l.available.contains(&l.active));
            }
        }

        #[test]
        fn a_printed_list_parses_back(names in proptest::collection::vec("[a-z-]{1,12}", 1..6), pick: prop::sample::Index) {
            let i = pick.index(names.len());
            let text: String = names.iter().enumerate().map(|(k, n)| if k == i { format!("[{n}] ") } else { format!("{n} ") }).collect();
            let l = SchedulerList::parse(&text).unwrap();
            prop_assert_eq!(&l.active, &names[i]);
            prop_assert_eq!(l.available, names);
        }
    }
}
