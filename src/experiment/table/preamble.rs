//! The lines before a table's header that say what its trials are of. Without them a table is only its rows; with them it says
//! the same as the record that it was written from.

use std::fmt::Write as _;

use super::{MOST_CELLS, TableError, at, number, shown, whole_number};
use crate::experiment::circumstances::{Circumstances, Early};
use crate::experiment::design::Blocks;
use crate::experiment::limits;
use crate::experiment::observation::Question;
use crate::sys::attr::clean;

/// The first line of a table that has them. Comments of others mean nothing to us.
const MARK: &str = "blktune.trials/1";
/// More lines than this are not read.
const MOST_LINES: usize = 200;

/// What is said of the trials before the first of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Preamble {
    /// The cells, the baseline first; empty if only the rows tell.
    pub cells: Vec<String>,
    /// Smallest difference that matters, as a share.
    pub margin: Option<f64>,
    /// How many blocks there were to be.
    pub blocks: Option<Blocks>,
    /// Trials of a block without its lead-in.
    pub block_trials: Option<usize>,
    /// How long a block takes, seconds.
    pub block_s: Option<f64>,
    /// Of the resampling that is shown beside the verdict.
    pub seed: Option<u64>,
    /// How it ended, and what else is to be said.
    pub told: Circumstances,
}

impl Preamble {
    /// Of an experiment of ours.
    #[must_use]
    pub fn of(question: &Question, told: &Circumstances) -> Self {
        Self {
            cells: question.cells.iter().map(|c| c.name.clone()).collect(),
            margin: Some(question.margin),
            blocks: Some(question.blocks),
            block_trials: question.block_trials,
            block_s: question.block_s,
            seed: Some(question.seed),
            told: told.clone(),
        }
    }

    /// Reads the lines at the beginning of a table, and tells how many there are.
    pub(super) fn read(bytes: &[u8]) -> Result<(Self, u64), TableError> {
        let mut this = Self::default();
        let comments = bytes.split(|b| *b == b'\n').map_while(|l| l.strip_prefix(b"#")).take(MOST_LINES);
        let mut lines = 0;
        let mut marked = false;
        for (line, text) in (1..).zip(comments.map(shown)) {
            lines = line;
            marked |= line == 1 && text == MARK;
            if let Some((key, value)) = text.split_once(':').filter(|_| marked) {
                this.take(key.trim(), value.trim(), line)?;
            }
        }
        Ok((this, lines))
    }

    fn take(&mut self, key: &str, value: &str, line: u64) -> Result<(), TableError> {
        let wrong = |what: String| at(line, format!("{key}: {what}"));
        match key {
            "cell" if self.cells.len() >= MOST_CELLS => {
                return wrong(format!("more than {MOST_CELLS} cells"));
            }
            "cell" if value.is_empty() => return wrong("a cell without a name".to_owned()),
            "cell" if self.cells.iter().any(|c| c == value) => {
                return wrong(format!("{value} is there twice"));
            }
            "cell" => self.cells.push(value.to_owned()),
            "margin" => {
                let share = match value.strip_suffix('%') {
                    Some(percent) => number(percent.trim(), key, line)?.map(|p| p / 100.0),
                    None => number(value, key, line)?,
                };
                match share.filter(|s| limits::check_margin(*s).is_ok()) {
                    Some(share) => self.margin = Some(share),
                    None => return wrong(format!("{value}: it is from 0.5% to 50%")),
                }
            }
            "blocks" if value == "auto" => self.blocks = Some(Blocks::Adaptive),
            "blocks" => self.blocks = whole_number(value, key, line)?.map(Blocks::Fixed),
            "block_trials" => self.block_trials = whole_number(value, key, line)?,
            "block_s" => self.block_s = number(value, key, line)?.filter(|s| *s > 0.0),
            "seed" => self.seed = whole_number(value, key, line)?,
            "ended" => match Early::parse(value) {
                Some(early) => self.told.early = Some(early),
                None => return wrong(format!("{value}: it is stopped, failed or cut off")),
            },
            "invalid" => self.told.invalid = Some(value.to_owned()),
            "carried_over" => self.told.carried_over = Some(value.to_owned()),
            "remark" => self.told.remarks.push(value.to_owned()),
            // For people, or of a later version.
            _ => {}
        }
        Ok(())
    }

    /// The lines, with those of `people` behind the first: key and text.
    pub(super) fn lines(&self, people: &[(&str, &str)]) -> String {
        let mut out = format!("# {MARK}\n");
        // A text of ours has no line feed, but one of a record may.
        let mut say = |key: &str, value: &str| {
            let _ = writeln!(out, "# {key}: {}", clean(value.as_bytes()).trim());
        };
        for (key, text) in people {
            say(key, text);
        }
        for cell in &self.cells {
            say("cell", cell);
        }
        if let Some(margin) = self.margin {
            say("margin", &limits::percentage(margin).unwrap_or_else(|| margin.to_string()));
        }
        match self.blocks {
            Some(Blocks::Adaptive) => say("blocks", "auto"),
            Some(Blocks::Fixed(n)) => say("blocks", &n.to_string()),
            None => {}
        }
        let numbers = [
            ("block_trials", self.block_trials.map(|n| n.to_string())),
            ("block_s", self.block_s.map(|n| n.to_string())),
            ("seed", self.seed.map(|n| n.to_string())),
            ("ended", self.told.early.map(|e| e.word().to_owned())),
        ];
        for (key, value) in numbers.into_iter().filter_map(|(k, v)| Some((k, v?))) {
            say(key, &value);
        }
        if let Some(why) = &self.told.invalid {
            say("invalid", why);
        }
        if let Some(what) = &self.told.carried_over {
            say("carried_over", what);
        }
        for remark in &self.told.remarks {
            say("remark", remark);
        }
        out
    }
}
