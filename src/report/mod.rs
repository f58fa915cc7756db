//! L3: one record of an experiment as a text that needs nothing else to be understood, and its trials as a table.

pub mod document;
pub mod markdown;
mod repeat;
mod table;

use std::borrow::Cow;
use std::path::PathBuf;

use crate::experiment::analysis::Analysis;
use crate::record::confirmation::{self, Confirmation};
use crate::record::reader::Record;

/// A record and what follows from it.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    record: &'a Record,
    /// What follows, or why nothing does. Borrowed if it was judged when the experiment ended, owned if only now.
    analysis: Result<Cow<'a, Analysis>, String>,
    /// What other records say of it; None where there is no verdict to be confirmed.
    confirmation: Option<Confirmation>,
}

impl<'a> Report<'a> {
    /// The report of a record. What was said when the experiment ended stands; without that its trials are judged now. Other
    /// records, which may confirm it, are looked for `among` the contents of these directories.
    #[must_use]
    pub fn of(record: &'a Record, among: &[PathBuf]) -> Self {
        let said = record.summary.as_ref().and_then(|s| s.analysis.as_ref());
        let analysis = said.map_or_else(|| record.judge().map(Cow::Owned), |a| Ok(Cow::Borrowed(a)));
        let confirmation =
            record.summary.as_ref().and_then(|s| confirmation::of(&record.dir, &record.manifest, s, among));
        Self { record, analysis, confirmation }
    }

    /// Whether its trials were judged only now, since nothing was said when the experiment ended.
    #[must_use]
    pub const fn judged_now(&self) -> bool {
        matches!(self.analysis, Ok(Cow::Owned(_)))
    }

    /// How it ended, in a sentence.
    #[must_use]
    pub fn ending(&self) -> String {
        let Some(summary) = &self.record.summary else {
            return format!(
                "This record has no end: the experiment was cut off, or still goes on. {} of {} planned trials are in it.",
                self.record.trials.len(),
                self.record.manifest.plan.len()
            );
        };
        let word = match summary.ended {
            crate::record::summary::Ended::Finished => "finished",
            crate::record::summary::Ended::Stopped => "stopped",
            crate::record::summary::Ended::Invalid => "not valid",
            crate::record::summary::Ended::Failed => "failed",
        };
        format!("It ended after {:.0} s, {word}: {}.", summary.took_s, summary.why.trim_end_matches('.'))
    }

    /// What was put back, in a sentence.
    #[must_use]
    pub fn put_back(&self) -> String {
        match self.record.summary.as_ref().map(|s| (s.restored, s.not_restored.as_slice())) {
            None => "Whether all settings were put back is not in this record; blktune restore puts back what is still held."
                .to_owned(),
            Some((None, [])) => "Nothing was changed that had to be put back.".to_owned(),
            Some((Some(true), [])) => "All settings were put back.".to_owned(),
            Some((_, [])) => "Not all settings were put back.".to_owned(),
            Some((_, left)) => format!("Not all settings were put back: {}", left.join(" ")),
        }
    }

    /// The command line that asks the same again, from the same seed.
    #[must_use]
    pub fn command(&self) -> String {
        repeat::command(&self.record.manifest.design, &self.record.manifest.command)
    }
}
