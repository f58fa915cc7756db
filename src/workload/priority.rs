//! I/O priority of a job's workers, as `ioprio_set(2)` has it.

use std::fmt;

use serde::{Serialize, Serializer};

/// The scheduling classes of `include/uapi/linux/ioprio.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriorityClass {
    /// Served first; needs `CAP_SYS_ADMIN` or `CAP_SYS_NICE`.
    Realtime,
    /// What programs have that ask for nothing.
    BestEffort,
    /// Served when nobody else wants the device.
    Idle,
}

/// Class and level. Only some schedulers look at it: bfq in full, mq-deadline at the class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priority {
    /// Class.
    pub class: PriorityClass,
    /// 0 (first) to 7 (last) within realtime and best effort; 0 for idle.
    pub level: u8,
}

impl Priority {
    /// Reads `4` (best effort, as fio's `prio`), `be/4`, `rt/0` or `idle`.
    ///
    /// # Errors
    /// What a priority looks like.
    pub fn parse(text: &str) -> Result<Self, String> {
        let form = || "it is a level from 0 to 7, be/LEVEL, rt/LEVEL or idle".to_owned();
        let (class, level) = match text.split_once('/') {
            None if text == "idle" => return Ok(Self { class: PriorityClass::Idle, level: 0 }),
            None => (PriorityClass::BestEffort, text),
            Some(("be", level)) => (PriorityClass::BestEffort, level),
            Some(("rt", level)) => (PriorityClass::Realtime, level),
            Some(_) => return Err(form()),
        };
        match level.as_bytes() {
            [digit @ b'0'..=b'7'] => Ok(Self { class, level: digit - b'0' }),
            _ => Err(form()),
        }
    }

    /// The kernel's number: class in the upper bits (`IOPRIO_PRIO_VALUE`).
    #[must_use]
    pub const fn value(self) -> u16 {
        let class = match self.class {
            PriorityClass::Realtime => 1,
            PriorityClass::BestEffort => 2,
            PriorityClass::Idle => 3,
        };
        class << 13 | self.level as u16
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.class {
            PriorityClass::Realtime => write!(f, "rt/{}", self.level),
            PriorityClass::BestEffort => write!(f, "be/{}", self.level),
            PriorityClass::Idle => f.write_str("idle"),
        }
    }
}

impl Serialize for Priority {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_comes_back_and_has_the_kernels_number() {
        for (text, shown, value) in [
            ("4", "be/4", 0x4004),
            ("be/0", "be/0", 0x4000),
            ("rt/7", "rt/7", 0x2007),
            ("idle", "idle", 0x6000),
        ] {
            let p = Priority::parse(text).unwrap();
            assert_eq!((p.to_string().as_str(), p.value()), (shown, value));
        }
        for text in ["", "8", "be/8", "rt", "rt/", "idle/0", "be/10", "nice/3", "-1"] {
            assert!(Priority::parse(text).is_err(), "{text}");
        }
    }
}
