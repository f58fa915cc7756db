//! The columns of the list: which, and in what order. The list behind follows at once.

use super::Dialog;
use crate::app::columns::{self, ColumnId};
use crate::app::effect::Effect;
use crate::app::model::Model;
use crate::app::view;

/// The dialog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnsDialog {
    /// All columns but the name, with whether they are shown.
    pub list: Vec<(ColumnId, bool)>,
    /// The marked one.
    pub at: usize,
    /// They are the default ones, and stay so if the default changes.
    pub default: bool,
    before: Option<Vec<ColumnId>>,
}

impl ColumnsDialog {
    fn new(chosen: Option<&Vec<ColumnId>>) -> Self {
        let shown = chosen.map_or(columns::DEFAULT, Vec::as_slice);
        let rest = columns::TABLE.iter().map(|c| c.id).filter(|c| *c != ColumnId::Name && !shown.contains(c));
        let list = shown.iter().map(|c| (*c, true)).chain(rest.map(|c| (c, false))).collect();
        Self { list, at: 0, default: chosen.is_none(), before: chosen.cloned() }
    }

    /// Marks another one.
    pub fn move_by(&mut self, by: isize) {
        self.at = self.at.saturating_add_signed(by).min(self.list.len().saturating_sub(1));
    }

    /// Shows or hides the marked one.
    pub fn toggle(&mut self) {
        if let Some((_, shown)) = self.list.get_mut(self.at) {
            *shown = !*shown;
            self.default = false;
        }
    }

    /// Moves the marked one towards the name.
    pub fn up(&mut self) {
        if self.at > 0 {
            self.list.swap(self.at, self.at - 1);
            self.at -= 1;
            self.default = false;
        }
    }

    /// Moves the marked one away from the name.
    pub fn down(&mut self) {
        if self.at + 1 < self.list.len() {
            self.list.swap(self.at, self.at + 1);
            self.at += 1;
            self.default = false;
        }
    }

    /// Back to the default.
    pub fn reset(&mut self) {
        let before = self.before.take();
        *self = Self { before, ..Self::new(None) };
    }

    fn chosen(&self) -> Option<Vec<ColumnId>> {
        (!self.default).then(|| self.list.iter().filter(|(_, shown)| *shown).map(|(c, _)| *c).collect())
    }
}

/// Opens it.
pub fn open(model: &mut Model) {
    model.dialogs.push(Dialog::Columns(ColumnsDialog::new(model.devices.columns.as_ref())));
}

/// Changes something in it; the list behind shows it.
pub fn change(model: &mut Model, how: fn(&mut ColumnsDialog)) {
    if let Some(Dialog::Columns(dialog)) = model.dialogs.last_mut() {
        how(dialog);
        model.devices.columns = dialog.chosen();
    }
}

/// Closes it and has the columns remembered.
pub fn take(model: &mut Model) -> Vec<Effect> {
    let Some(Dialog::Columns(dialog)) = model.dialogs.pop() else { return Vec::new() };
    if model.devices.columns == dialog.before {
        return Vec::new();
    }
    vec![view::remember(model)]
}

/// Closes it with the columns as they were.
pub fn leave(model: &mut Model) {
    if let Some(Dialog::Columns(dialog)) = model.dialogs.pop() {
        model.devices.columns = dialog.before;
    }
}
