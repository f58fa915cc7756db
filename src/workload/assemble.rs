//! From a preset's name and what `--set` changes of it to the jobs.

use super::job::Job;
use super::keys::JobError;
use super::preset::{self, PRESETS};
use crate::sys::attr::clean;

/// Why there are no jobs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssembleError {
    /// No preset of that name.
    #[error(
        "no job called {0:?}; the presets are {names} (job files are not supported yet)",
        names = PRESETS.iter().map(|p| p.name).collect::<Vec<_>>().join(", ")
    )]
    NoPreset(String),
    /// The preset has no job of that name.
    #[error("--set: no job {0:?} here; there is {names}", names = .1.join(", "))]
    NoJob(String, Vec<String>),
    /// A job does not take it, or the fields do not go together.
    #[error(transparent)]
    Job(#[from] JobError),
}

/// The preset's jobs with what is set, in that order: a key of all of them (`bs=4k`), or of one (`writer.rate=10m`).
///
/// # Errors
/// A name that there is not, a value that a key does not take, fields that do not go together.
pub fn assemble<S: AsRef<str>>(
    preset: &str,
    set: impl IntoIterator<Item = S>,
) -> Result<Vec<Job>, AssembleError> {
    let Some(preset) = preset::find(preset) else {
        return Err(AssembleError::NoPreset(clean(preset.as_bytes())));
    };
    let mut jobs = preset.jobs();
    for assignment in set {
        assign(&mut jobs, assignment.as_ref())?;
    }
    jobs.iter().try_for_each(Job::check)?;
    Ok(jobs)
}

fn assign(jobs: &mut [Job], assignment: &str) -> Result<(), AssembleError> {
    let key = assignment.split('=').next().unwrap_or_default();
    if let Some((name, _)) = key.split_once('.') {
        let names: Vec<String> = jobs.iter().map(|j| j.name.clone()).collect();
        let Some(job) = jobs.iter_mut().find(|j| j.name == name) else {
            return Err(AssembleError::NoJob(clean(name.as_bytes()), names));
        };
        return Ok(job.set(&assignment[name.len() + 1..])?);
    }
    jobs.iter_mut().try_for_each(|job| job.set(assignment))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;
    use proptest::prelude::*;

    #[test]
    fn a_key_goes_to_all_jobs_or_to_the_one_that_is_named() {
        let jobs = assemble("readers-vs-writer", ["bs=8k", "writer.bs=64k"]).unwrap();
        assert_eq!(jobs.iter().map(|j| j.bs).collect::<Vec<_>>(), [Bytes(8192), Bytes(65536)]);
    }

    #[test]
    fn what_there_is_not_is_answered_with_what_there_is() {
        let said = |preset, set: &[&str]| assemble(preset, set).unwrap_err().to_string();
        assert!(said("nope", &[]).contains("dd-1m"));
        let text = said("readers-vs-writer", &["reader.bs=4k"]);
        assert!(text.contains("\"reader\"") && text.contains("readers, writer"), "{text}");
        assert!(said("dd-1m", &["rate=1m", "rate_iops=5"]).contains("one of them"));
    }

    proptest! {
        #[test]
        fn any_text_is_survived(preset in "dd-1m|.*", set in proptest::collection::vec("[.]?.*=?.*", 0..4)) {
            let _ = assemble(&preset, &set);
        }
    }
}
