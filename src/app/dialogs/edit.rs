//! One line of typed text: a setting's value or a field of the workload.

/// What the text is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A value to be staged for this setting.
    Setting(String),
    /// A level of this setting in an experiment, or what is `set` of its workload.
    Level(&'static str),
    /// A field of the workload, by its key.
    Field(&'static str),
}

/// The dialog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditDialog {
    /// What the text is for.
    pub purpose: Purpose,
    /// The question above the line.
    pub title: String,
    /// What may be typed.
    pub hint: String,
    /// The text so far.
    pub text: String,
    /// Why the text was not taken, after Enter.
    pub refused: Option<String>,
}

/// Longest text that is taken; no value of a setting or field is near it.
const LONGEST: usize = 64;

impl EditDialog {
    /// Appends a character.
    pub fn type_char(&mut self, c: char) {
        if !c.is_control() && self.text.chars().count() < LONGEST {
            self.text.push(c);
            self.refused = None;
        }
    }

    /// Takes the last character away.
    pub fn erase(&mut self) {
        self.text.pop();
        self.refused = None;
    }
}
