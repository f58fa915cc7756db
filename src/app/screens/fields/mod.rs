//! The fields of a job as a form: one table of them, how they are stepped and typed, and the rows of the form.

mod sentence;
mod table;

use std::time::Duration;

pub use sentence::{Place, promises, sentence};
pub use table::{FIELDS, Field};

use crate::units::Bytes;
use crate::workload::job::Job;
use crate::workload::keys::JobError;

/// A row of the form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Row {
    /// What is read or written: not the job's.
    Target,
    /// Which of several jobs the fields below are of.
    Job,
    /// A field, by its key.
    Field(&'static str),
    /// Unfolds the fields that are rarely changed.
    More,
    /// Starts the run.
    #[default]
    Start,
}

impl Row {
    /// The field in this row.
    #[must_use]
    pub fn field(self) -> Option<&'static Field> {
        match self {
            Row::Field(key) => find(key),
            _ => None,
        }
    }
}

/// The field with this key.
#[must_use]
pub fn find(key: &str) -> Option<&'static Field> {
    FIELDS.iter().find(|f| f.key == key)
}

/// The rows of the form, in order.
#[must_use]
pub fn rows(several_jobs: bool, unfolded: bool) -> Vec<Row> {
    let fields = |common: bool| FIELDS.iter().filter(move |f| f.common == common).map(|f| Row::Field(f.key));
    let mut rows = vec![Row::Target];
    rows.extend(several_jobs.then_some(Row::Job));
    rows.extend(fields(true));
    rows.push(Row::More);
    if unfolded {
        rows.extend(fields(false));
    }
    rows.push(Row::Start);
    rows
}

impl Field {
    /// Why it can not be changed as the job stands; None if it can.
    #[must_use]
    pub fn greyed(&self, job: &Job) -> Option<&'static str> {
        (self.why_not)(job)
    }

    /// Its value, as the form shows it; typed again it is the same.
    #[must_use]
    pub fn value(&self, job: &Job) -> String {
        (self.shown)(job)
    }

    /// The same with what is in use, where that is another: one in flight, whatever iodepth says.
    #[must_use]
    pub fn value_in_use(&self, job: &Job) -> String {
        let value = self.value(job);
        if self.key == "iodepth" && job.depth_in_use() != job.iodepth {
            return format!("{value} ({} in use)", job.depth_in_use());
        }
        value
    }

    /// Whether all jobs of a run have it together: they run at the same time.
    #[must_use]
    pub fn of_the_run(&self) -> bool {
        matches!(self.key, "runtime" | "ramp")
    }

    /// Takes a typed text, as `--set` would.
    ///
    /// # Errors
    /// Why the text is no value of it, in the words of `--set`.
    pub fn take_text(&self, job: &mut Job, text: &str) -> Result<(), String> {
        // The form writes `4 KiB` and `10 s`, which are read without the blank.
        let text = text.replace(' ', "");
        if let Some((word, clear)) = self.unset
            && text == word
        {
            clear(job);
            return Ok(());
        }
        job.set(&format!("{}={text}", self.key)).map_err(|e| match e {
            JobError::Value { value, why, .. } => format!("{value:?}: {why}"),
            other => other.to_string(),
        })
    }

    /// The next or previous of the values that stepping visits. A value between two goes to the nearer in that direction;
    /// at the end it stays.
    pub fn step(&self, job: &mut Job, forward: bool) {
        let at = |text: &str| {
            let mut other = job.clone();
            self.take_text(&mut other, text).ok().map(|()| ((self.rank)(&other), other))
        };
        let now = (self.rank)(job);
        let unset = self.unset.map(|(word, _)| word);
        let visited = unset.into_iter().chain(self.steps.iter().copied()).filter_map(at);
        let next = if forward {
            visited.filter(|(rank, _)| *rank > now).min_by_key(|(rank, _)| *rank)
        } else {
            visited.filter(|(rank, _)| *rank < now).max_by_key(|(rank, _)| *rank)
        };
        if let Some((_, next)) = next {
            *job = next;
        }
    }
}

/// `10 s`, `250 ms`, `5 min`: exact, and read by `--set` without the blank.
#[must_use]
pub fn seconds(d: Duration) -> String {
    let (s, ns) = (d.as_secs(), d.subsec_nanos());
    if ns == 0 {
        return if s >= 120 && s.is_multiple_of(60) { format!("{} min", s / 60) } else { format!("{s} s") };
    }
    let (ms, rest) = (d.as_millis(), ns % 1_000_000);
    if rest == 0 {
        return format!("{ms} ms");
    }
    format!("{ms}.{} ms", format!("{rest:06}").trim_end_matches('0'))
}

/// `4 KiB` where the amount is round, `1537 B` where not: exact.
#[must_use]
pub fn round_bytes(b: Bytes) -> String {
    for (unit, shift) in [("GiB", 30), ("MiB", 20), ("KiB", 10)] {
        if b.0 >= 1 << shift && b.0.is_multiple_of(1 << shift) {
            return format!("{} {unit}", b.0 >> shift);
        }
    }
    format!("{} B", b.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::keys::KEYS;
    use crate::workload::preset::PRESETS;
    use proptest::prelude::*;

    fn job(preset: &str, set: &[&str]) -> Job {
        let mut job = PRESETS.iter().find(|p| p.name == preset).unwrap().jobs().remove(0);
        for s in set {
            job.set(s).unwrap();
        }
        job
    }

    #[test]
    fn every_key_of_the_command_line_is_a_field_once() {
        let mut keys: Vec<&str> = KEYS.to_vec();
        let mut fields: Vec<&str> = FIELDS.iter().map(|f| f.key).collect();
        keys.sort_unstable();
        fields.sort_unstable();
        assert_eq!(fields, keys);
    }

    #[test]
    fn what_is_shown_can_be_typed_and_changes_nothing() {
        let odd = [
            "bs=1536",
            "size=1537",
            "offset=3m",
            "runtime=1.25s",
            "ramp=1234us".trim_end_matches("us"),
            "rate=10m",
            "number_ios=12345",
            "thinktime=0.123456ms",
            "startdelay=90s",
            "prio=idle",
            "cpus_allowed=0-3,8",
            "limits_ms=0.5,10",
            "seed=77",
            "align=512",
            "fsync=3",
            "sync=dsync",
            "drop_caches=system",
        ];
        for p in PRESETS {
            for mut job in p.jobs() {
                for set in [&[][..], &odd[..]] {
                    for s in set {
                        job.set(s).unwrap();
                    }
                    for f in FIELDS {
                        let mut again = job.clone();
                        let text = f.value(&job);
                        assert_eq!(f.take_text(&mut again, &text), Ok(()), "{} {text}", f.key);
                        again.engine_required = job.engine_required;
                        assert_eq!(again, job, "{}={text}", f.key);
                    }
                }
            }
        }
    }

    #[test]
    fn stepping_visits_every_value_in_both_directions() {
        for f in FIELDS {
            let mut j = job("randrw-4k-70", &[]);
            for _ in 0..40 {
                f.step(&mut j, false);
            }
            let mut up = vec![f.value(&j)];
            for _ in 0..40 {
                f.step(&mut j, true);
                if up.last() != Some(&f.value(&j)) {
                    up.push(f.value(&j));
                }
            }
            assert_eq!(up.len(), f.steps.len() + usize::from(f.unset.is_some()), "{}: {up:?}", f.key);
            for value in up.iter().rev().skip(1) {
                f.step(&mut j, false);
                assert_eq!(&f.value(&j), value, "{}", f.key);
            }
        }
    }

    #[test]
    fn a_value_between_two_steps_goes_to_the_nearer_in_that_direction() {
        let bs = find("bs").unwrap();
        for (forward, want) in [(true, "8 KiB"), (false, "4 KiB")] {
            let mut j = job("randread-4k", &["bs=5k"]);
            bs.step(&mut j, forward);
            assert_eq!(bs.value(&j), want);
        }
    }

    #[test]
    fn fields_without_a_sense_are_greyed_with_the_reason() {
        for (preset, set, key, part) in [
            ("seqread-1m", &[][..], "align", "sequential"),
            ("seqread-1m", &[], "norandommap", "sequential"),
            ("randread-4k", &[], "rwmixread", "no mix"),
            ("randread-4k", &[], "rate_process", "no rate"),
            ("randread-4k", &[], "sync", "writes nothing"),
            ("randread-4k", &[], "end_fsync", "writes nothing"),
            ("randread-4k", &[], "iodepth", "one I/O"),
            ("randwrite-4k", &["fsync=1"], "fdatasync", "fsync"),
            ("randread-4k", &["rate_iops=5"], "rate", "rate_iops"),
            ("randread-4k", &["rate_iops=5"], "thinktime", "rate"),
            ("randread-4k", &["engine=null"], "direct", "no I/O"),
        ] {
            let why =
                find(key).unwrap().greyed(&job(preset, set)).unwrap_or_else(|| panic!("{preset} {key}"));
            assert!(why.contains(part), "{key}: {why}");
        }
        for (preset, set, key) in [
            ("randrw-4k-70", &[][..], "rwmixread"),
            ("randread-4k", &["rate=1m"], "rate_process"),
            ("randread-4k-qd32", &[], "iodepth"),
            ("randread-4k", &[], "align"),
            // What contradicts the rest must be there to be taken back.
            ("seqread-1m", &["align=4k"], "align"),
            ("randread-4k", &["sync=dsync"], "sync"),
            ("randread-4k", &["rate=1m", "rate_iops=5"], "rate"),
        ] {
            assert_eq!(find(key).unwrap().greyed(&job(preset, set)), None, "{preset} {key}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived_and_a_refused_one_changes_nothing(text in "\\PC{0,20}", at in 0..FIELDS.len()) {
            let mut j = job("randrw-4k-70", &[]);
            let before = j.clone();
            if FIELDS[at].take_text(&mut j, &text).is_err() {
                prop_assert_eq!(j, before);
            }
        }

        #[test]
        fn times_and_sizes_are_shown_exactly(ns in 0u64..10_000_000_000_000, bytes in any::<u64>()) {
            let d = Duration::from_nanos(ns);
            prop_assert_eq!(crate::workload::value::parse_time(&seconds(d).replace(' ', "")), Ok(d));
            let b = Bytes(bytes);
            prop_assert_eq!(crate::workload::value::parse_size(&round_bytes(b).replace(' ', "")), Ok(b));
        }
    }
}
