//! Factors as they are written: `scheduler=none,bfq`, `bs=4k,1m`, `writer.rate=10m,20m`.

use crate::sys::attr::clean;
use crate::sys::queue::QueueState;
use crate::tuning::catalogue;
use crate::workload::keys::KEYS;

use super::design::{Factor, FactorKind};

/// Most levels that are read: more is a slip of the keyboard.
const MOST_LEVELS: usize = 24;
/// Keys that are of the experiment itself, and what says them.
const OF_THE_EXPERIMENT: [(&str, &str); 4] = [
    ("runtime", "--trial says how long a trial is measured"),
    ("ramp", "--ramp says how long a trial runs before it is measured"),
    ("number_ios", "--trial says how long a trial is measured, and a number of I/Os would end it before"),
    ("seed", "--seed is the experiment's, and both cells of a block use the same blocks of the target"),
];

/// What is wrong with a factor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FactorError {
    /// Not of the form.
    #[error("--factor {0:?}: write it as NAME=VALUE,VALUE, for example scheduler=none,bfq")]
    Form(String),
    /// Neither a setting of this queue nor a key of the workload.
    #[error("--factor {name}: it is no setting of this device and no key of the workload; {hint}")]
    Unknown {
        /// The name.
        name: String,
        /// What is near, or where the names are listed.
        hint: String,
    },
    /// A level without text, one that comes twice, or too many.
    #[error("--factor {name}: {why}")]
    Levels {
        /// The factor.
        name: String,
        /// What is wrong.
        why: String,
    },
}

/// Reads a factor. Whether its levels can be set is judged with the cells.
///
/// # Errors
/// The form, a name that there is not with those that are near, levels that are empty or come twice.
pub fn parse(text: &str, state: &QueueState) -> Result<Factor, FactorError> {
    let shown = clean(text.as_bytes());
    let (name, values) = shown.split_once('=').ok_or_else(|| FactorError::Form(shown.clone()))?;
    let name = name.trim();
    if name.is_empty() {
        return Err(FactorError::Form(shown));
    }
    let (name, kind) = resolve(name, state)?;
    let levels: Vec<String> = values.split(',').map(|v| v.trim().to_owned()).collect();
    let wrong = |why: String| Err(FactorError::Levels { name: name.clone(), why });
    if levels.len() > MOST_LEVELS {
        return wrong(format!("{} levels are too many, {MOST_LEVELS} are the most", levels.len()));
    }
    for (i, level) in levels.iter().enumerate() {
        if level.is_empty() {
            return wrong("a level is empty; write them with a comma between, as in none,bfq".to_owned());
        }
        if levels[..i].contains(level) {
            return wrong(format!("{level} is given twice"));
        }
    }
    if kind == FactorKind::Setting && name == "iostats" {
        return wrong(
            "without the device's counters no trial can be checked, so it stays as it is".to_owned(),
        );
    }
    Ok(Factor { name, kind, levels })
}

/// That `--set` changes what is of the experiment itself, in words; None if it does not.
pub(super) fn not_to_be_set(assignment: &str) -> Option<String> {
    let name = assignment.split('=').next().unwrap_or_default();
    let key = name.rsplit_once('.').map_or(name, |(_, key)| key);
    let (_, instead) = OF_THE_EXPERIMENT.iter().find(|(k, _)| *k == key)?;
    Some(format!("--set {}: {instead}", clean(name.as_bytes())))
}

fn resolve(name: &str, state: &QueueState) -> Result<(String, FactorKind), FactorError> {
    if state.attributes.contains_key(name) {
        return Ok((name.to_owned(), FactorKind::Setting));
    }
    let key = name.rsplit_once('.').map_or(name, |(_, key)| key);
    if let Some((_, instead)) = OF_THE_EXPERIMENT.iter().find(|(k, _)| *k == key) {
        return Err(FactorError::Levels { name: name.to_owned(), why: (*instead).to_owned() });
    }
    if KEYS.contains(&key) {
        return Ok((name.to_owned(), FactorKind::Workload));
    }
    // A tunable by its own name, or one of a scheduler that is only set by this experiment.
    let tunable = format!("iosched/{name}");
    if state.attributes.contains_key(&tunable) || catalogue::is_known(&tunable) {
        return Ok((tunable, FactorKind::Setting));
    }
    if catalogue::is_known(name) {
        // The cells say why this device lacks it.
        return Ok((name.to_owned(), FactorKind::Setting));
    }
    Err(FactorError::Unknown { name: name.to_owned(), hint: hint(name, state) })
}

/// Names that are near to one that there is not.
fn hint(name: &str, state: &QueueState) -> String {
    let settings = state.attributes.keys().filter(|n| catalogue::changeable(n, state)).map(String::as_str);
    let mut near: Vec<(usize, &str)> = settings
        .chain(KEYS.iter().copied())
        .filter_map(|known| {
            let short = known.trim_start_matches("iosched/");
            let far = distance(name, short).min(distance(name, known));
            let part = name.len() >= 3 && (short.contains(name) || name.contains(short) && short.len() >= 4);
            (part || far <= 2.min(name.chars().count() / 2)).then_some((far, known))
        })
        .collect();
    near.sort_unstable();
    near.truncate(4);
    if near.is_empty() {
        return "`blktune show DEVICE` lists the settings, and the keys are those of --set".to_owned();
    }
    format!("near to it: {}", near.iter().map(|(_, n)| *n).collect::<Vec<_>>().join(", "))
}

/// How many letters have to be put in, left out or changed to make one word of the other. Of long words only that they
/// are far apart.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > 4 || a.len() > 64 {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let changed = corner + usize::from(x != y);
            corner = row[j + 1];
            row[j + 1] = changed.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::cells::tests::queue;
    use proptest::prelude::*;

    #[test]
    fn settings_keys_and_keys_of_one_job_are_told_apart() {
        let state = queue();
        for (text, name, kind, levels) in [
            ("scheduler=none,bfq", "scheduler", FactorKind::Setting, &["none", "bfq"][..]),
            ("read_ahead_kb=4, 4096", "read_ahead_kb", FactorKind::Setting, &["4", "4096"]),
            ("bs=4k,1m", "bs", FactorKind::Workload, &["4k", "1m"]),
            ("writer.rate=1m,2m", "writer.rate", FactorKind::Workload, &["1m", "2m"]),
            ("slice_idle=0,8", "iosched/slice_idle", FactorKind::Setting, &["0", "8"]),
            (
                "write_cache=write back,write through",
                "write_cache",
                FactorKind::Setting,
                &["write back", "write through"],
            ),
        ] {
            let f = parse(text, &state).unwrap();
            assert_eq!((f.name.as_str(), f.kind), (name, kind), "{text}");
            assert_eq!(f.levels, levels, "{text}");
        }
    }

    #[test]
    fn a_wrong_factor_says_what_to_write() {
        for (text, part) in [
            ("scheduler", "NAME=VALUE"),
            ("=a,b", "NAME=VALUE"),
            ("shceduler=none,bfq", "near to it: scheduler"),
            ("read_ahead=4,8", "near to it: read_ahead_kb"),
            ("iodept=1,2", "near to it: iodepth"),
            ("quux=1,2", "blktune show"),
            ("scheduler=none,", "a level is empty"),
            ("scheduler=none,none", "none is given twice"),
            ("runtime=1s,2s", "--trial"),
            ("writer.seed=1,2", "--seed"),
            ("number_ios=1,2", "--trial"),
            ("iostats=0,1", "counters"),
        ] {
            let said = parse(text, &queue()).unwrap_err().to_string();
            assert!(said.contains(part), "{text}: {said}");
        }
    }

    #[test]
    fn the_distance_is_the_least_number_of_letters() {
        for (a, b, n) in
            [("", "", 0), ("bs", "bs", 0), ("kitten", "sitting", 3), ("abc", "", 3), ("ab", "ba", 2)]
        {
            assert_eq!((distance(a, b), distance(b, a)), (n, n), "{a} {b}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived_and_what_is_read_has_levels(text in "(scheduler|bs|[a-z_./]{0,12})?=?.*") {
            if let Ok(f) = parse(&text, &queue()) {
                prop_assert!(!f.levels.is_empty() && f.levels.iter().all(|l| !l.is_empty()));
            }
        }
    }
}
