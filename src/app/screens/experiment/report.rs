//! What an experiment shows, going or ended, entry by entry.

use crate::app::entries::{Entry, text};
use crate::config::theme::Role;

use super::course::Course;

/// All of it, for a screen of this width.
#[must_use]
pub fn entries(course: &Course, _width: u16, _ascii: bool) -> Vec<Entry> {
    let mut out = Vec::new();
    match &course.ended {
        None => {}
        Some(Err(why)) => out.push(text(Role::Danger, why.to_string())),
        Some(Ok(end)) => {
            out.extend(end.not_restored.iter().map(|w| text(Role::Danger, format!("not put back: {w}"))));
            out.push(text(Role::Text, end.analysis.sentence().to_owned()));
            out.push(text(Role::Text, format!("ended: {}", end.reason)));
        }
    }
    out
}
