//! The keys of the place below the help, from the table of actions.

use crate::app::actions::{self, Place};

/// One line: keys and what they do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelpLine {
    /// The keys, ready to be shown; empty for a heading.
    pub keys: String,
    /// What they do, or the heading.
    pub text: String,
}

/// What the help shows for a place: its own keys first, then those that work everywhere.
#[must_use]
pub fn lines(place: Place) -> Vec<HelpLine> {
    let mut out = vec![HelpLine { keys: String::new(), text: place.title().to_owned() }];
    let everywhere = |a: &&actions::Action| actions::EVERYWHERE.iter().all(|p| a.places.contains(p));
    let line = |a: &actions::Action| HelpLine { keys: actions::key_words(a.keys), text: a.title.to_owned() };
    out.extend(actions::at(place).filter(|a| !everywhere(a)).map(line));
    out.push(HelpLine { keys: String::new(), text: "Everywhere".to_owned() });
    out.extend(actions::at(place).filter(everywhere).map(line));
    out
}
