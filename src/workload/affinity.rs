//! Which CPUs a job's workers may run on.

use std::fmt;

use rustix::thread::{CpuSet, sched_setaffinity};
use serde::{Serialize, Serializer};

/// A set of CPUs, by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpus(Vec<u32>);

impl Cpus {
    /// Reads a list as the kernel writes it: `0-3,8`.
    ///
    /// # Errors
    /// What such a list looks like.
    pub fn parse(text: &str) -> Result<Self, String> {
        let form = || format!("it is a list of CPUs below {}, as 0-3,8", CpuSet::MAX_CPU);
        let number = |t: &str| -> Option<u32> {
            t.bytes()
                .all(|b| b.is_ascii_digit())
                .then(|| t.parse().ok())?
                .filter(|n| (*n as usize) < CpuSet::MAX_CPU)
        };
        let mut cpus = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            match (number(first), number(last)) {
                (Some(first), Some(last)) if first <= last => cpus.extend(first..=last),
                _ => return Err(form()),
            }
        }
        cpus.sort_unstable();
        cpus.dedup();
        Ok(Self(cpus))
    }

    /// Their numbers, in order.
    #[must_use]
    pub fn numbers(&self) -> &[u32] {
        &self.0
    }

    /// Keeps the calling thread on these CPUs.
    ///
    /// # Errors
    /// None of them is there, or may be used.
    pub fn apply(&self) -> std::io::Result<()> {
        let mut set = CpuSet::new();
        for cpu in &self.0 {
            set.set(*cpu as usize);
        }
        Ok(sched_setaffinity(None, &set)?)
    }
}

impl fmt::Display for Cpus {
    /// As the kernel writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, run) in self.0.chunk_by(|a, b| a + 1 == *b).enumerate() {
            let comma = if i > 0 { "," } else { "" };
            match run {
                [one] => write!(f, "{comma}{one}")?,
                [first, .., last] => write!(f, "{comma}{first}-{last}")?,
                [] => {}
            }
        }
        Ok(())
    }
}

impl Serialize for Cpus {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_list_is_what_it_says() {
        assert_eq!(Cpus::parse("8,0-3,2").unwrap().to_string(), "0-3,8");
        for text in ["", "3-1", "a", "0-", "99999999", "0,,1", "+1"] {
            assert!(Cpus::parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_can_be_read(mut cpus in proptest::collection::vec(0u32..64, 1..20)) {
            let text = cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
            cpus.sort_unstable();
            cpus.dedup();
            let parsed = Cpus::parse(&text).unwrap();
            prop_assert_eq!(&parsed.0, &cpus);
            prop_assert_eq!(Cpus::parse(&parsed.to_string()).unwrap(), parsed);
        }

        #[test]
        fn any_text_is_survived(s in ".*") {
            let _ = Cpus::parse(&s);
        }
    }
}
