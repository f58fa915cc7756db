//! The values that make sense for a setting, and what is no value at all.

use super::table::{Form, Known, Most};
use crate::sys::queue::{Attribute, QueueState};

/// The most requests the kernel allows under a scheduler (`MAX_SCHED_RQ` in `block/blk-mq-sched.h`). Under none the
/// limit is the driver's, which is not told.
const MAX_SCHEDULED_REQUESTS: u64 = 2048;

/// An attribute takes a page at most (`Documentation/filesystems/sysfs.rst`).
const PAGE: usize = 4096;

/// The values that make sense for a setting on this queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Legal {
    /// One of a list.
    Choice(Vec<String>),
    /// A whole number. `suggested` are the values that stepping through visits, in order.
    Number {
        /// Least that makes sense; -1 where the kernel takes it for its own default.
        min: i64,
        /// Greatest; None if the kernel does not say.
        max: Option<u64>,
        /// Common values within the range, ascending.
        suggested: Vec<u64>,
    },
    /// Whatever the kernel takes: an attribute that is not known here. One line.
    Text,
    /// Can not be changed.
    Fixed,
}

impl Legal {
    /// In words: `none mq-deadline bfq`, `0 or 1`, `4..2048`; empty for what is fixed.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Legal::Choice(words)
                if words.len() == 2 && words.iter().all(|w| is_decimal(w) || w.contains(' ')) =>
            {
                words.join(" or ")
            }
            Legal::Choice(words) => words.join(" "),
            Legal::Number { min, max: None, .. } if *min < 0 => format!("0.. or {min}"),
            Legal::Number { min, max: Some(max), .. } => format!("{min}..{max}"),
            Legal::Number { min, max: None, .. } => format!("{min}.."),
            Legal::Text => "one line; the kernel judges it".to_owned(),
            Legal::Fixed => String::new(),
        }
    }

    /// Why a text can not be a value of `name`, whatever the kernel: the wrong sort of text. None if it can be tried. Of
    /// numbers the kernel is the judge, since it rounds and limits many that are not listed.
    #[must_use]
    pub fn refusal(&self, name: &str, value: &str) -> Option<String> {
        if let Some(why) = no_line(value) {
            return Some(why);
        }
        match self {
            // The kernel's other name; it is not offered, since it says less.
            Legal::Choice(_) if name == "write_cache" && value == "none" => None,
            Legal::Choice(words) if words.iter().all(|w| is_decimal(w)) => {
                (!is_decimal(value)).then(|| format!("{value:?} is not {}", self.words()))
            }
            Legal::Choice(words) => (!words.iter().any(|w| w == value))
                .then(|| format!("{value:?} is none of: {}", words.join(", "))),
            Legal::Number { min, .. } => {
                let signed = *min < 0 && value.strip_prefix('-').is_some_and(is_decimal);
                (!is_decimal(value) && !signed).then(|| {
                    format!(
                        "{value:?} is not a whole number (digits only, no sign, no unit{})",
                        example(name)
                    )
                })
            }
            Legal::Text | Legal::Fixed => None,
        }
    }
}

fn example(name: &str) -> &'static str {
    match name {
        "read_ahead_kb" => "; 4 MiB is 4096",
        "wbt_lat_usec" | "io_poll_delay" => "; only -1 has a sign",
        _ => "",
    }
}

/// Whether a text is a whole number that may fit into 64 bits: 20 digits hold any.
pub(in crate::tuning) fn is_decimal(text: &str) -> bool {
    (1..=20).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
}

/// Why a text is no value of any attribute: a value is one line, not empty, at most a page.
pub(in crate::tuning) fn no_line(value: &str) -> Option<String> {
    if value.trim().is_empty() {
        Some("a value is missing after the =".to_owned())
    } else if value.len() > PAGE {
        Some(format!("{} bytes are too long; an attribute takes {PAGE} at most", value.len()))
    } else if value.chars().any(char::is_control) {
        Some("line ends and control characters can not be part of a value".to_owned())
    } else {
        None
    }
}

/// Whether a name can be that of an attribute in `queue/` or `queue/iosched/`. Only such names ever become a path.
pub(in crate::tuning) fn is_attribute_name(name: &str) -> bool {
    let file = name.strip_prefix("iosched/").unwrap_or(name);
    (1..=64).contains(&file.len())
        && file.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

/// The legal values of an attribute on this queue, and why it can not be changed, if so.
pub(super) fn judge(
    name: &str,
    attribute: &Attribute,
    known: Option<&Known>,
    state: &QueueState,
) -> (Legal, Option<String>) {
    if !attribute.writable {
        return fixed("read only in the kernel");
    }
    if !is_attribute_name(name) {
        return fixed("its name is not one that the kernel gives to settings");
    }
    let legal = match known.map_or(Form::Shown, |k| k.form) {
        Form::Scheduler => match state.schedulers() {
            Some(list) if list.changeable => Legal::Choice(list.available),
            Some(_) => return fixed("this device has no scheduler to choose"),
            None => return fixed("the kernel's list of schedulers could not be read"),
        },
        Form::Flag => choice(&["0", "1"]),
        Form::Numbers(words) => choice(words),
        Form::Cache => choice(&["write back", "write through"]),
        Form::Number { least, most, steps } => {
            let max = greatest(most, state);
            let mut suggested = steps.to_vec();
            if let (Most::Attribute(_), Some(max)) = (most, max) {
                suggested.push(max);
                suggested.sort_unstable();
                suggested.dedup();
            }
            let fits = |v: &u64| i64::try_from(*v).is_ok_and(|v| v >= least) && max.is_none_or(|m| *v <= m);
            suggested.retain(fits);
            Legal::Number { min: least, max, suggested }
        }
        // Known as read only, or not at all, and yet this kernel lets it be written.
        Form::Shown => Legal::Text,
    };
    (legal, None)
}

fn greatest(most: Most, state: &QueueState) -> Option<u64> {
    match most {
        Most::Untold => None,
        Most::Is(n) => Some(n),
        Most::Attribute(name) => state.number(name),
        Most::Requests => {
            state.schedulers().is_some_and(|s| s.active != "none").then_some(MAX_SCHEDULED_REQUESTS)
        }
    }
}

fn choice(words: &[&str]) -> Legal {
    Legal::Choice(words.iter().map(|w| (*w).to_owned()).collect())
}

fn fixed(why: &str) -> (Legal, Option<String>) {
    (Legal::Fixed, Some(why.to_owned()))
}
