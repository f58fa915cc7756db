//! The trials as the table that `blktune analyse` reads.

use super::Report;
use crate::experiment::observation::from_trials;
use crate::experiment::table::{Preamble, TableError, write};

impl Report<'_> {
    /// The table. What follows from it is what follows from the record: question and circumstances are in its first lines.
    ///
    /// # Errors
    /// As [`write`].
    pub fn csv(&self) -> Result<String, TableError> {
        let r = self.record;
        let question = r.question();
        let preamble = Preamble::of(&question, &r.circumstances());
        let (device, model) = (&r.manifest.device.name, r.manifest.device.model.as_deref());
        let people = [
            ("device", device.as_str()),
            ("model", model.unwrap_or("unknown")),
            ("kernel", r.manifest.host.kernel.as_deref().unwrap_or("unknown")),
            ("began", r.manifest.started.as_str()),
        ];
        write(&question, &from_trials(&question, &r.only_trials()), &preamble, &people)
    }
}
