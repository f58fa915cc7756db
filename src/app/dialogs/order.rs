//! What the list is ordered by: a column that it has, once or followed.

use super::Dialog;
use crate::app::columns::ColumnId;
use crate::app::effect::Effect;
use crate::app::model::Model;
use crate::app::order::Order;
use crate::app::view;

/// The dialog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderDialog {
    /// The columns of the list, the name first.
    pub list: Vec<ColumnId>,
    /// The marked one.
    pub at: usize,
    /// Least first.
    pub reversed: bool,
}

impl OrderDialog {
    /// Marks another one.
    pub fn move_by(&mut self, by: isize) {
        self.at = self.at.saturating_add_signed(by).min(self.list.len().saturating_sub(1));
    }
}

/// Opens it with the present order marked.
pub fn open(model: &mut Model) {
    let order = model.fleet.order();
    let mut list = vec![ColumnId::Name];
    list.extend_from_slice(model.devices.columns(model.width));
    if !list.contains(&order.column) {
        list.push(order.column);
    }
    let at = list.iter().position(|c| *c == order.column).unwrap_or(0);
    model.dialogs.push(Dialog::Order(OrderDialog { list, at, reversed: order.reversed }));
}

/// Turns the order round; nothing moves before it is taken.
pub fn reverse(model: &mut Model) {
    if let Some(Dialog::Order(dialog)) = model.dialogs.last_mut() {
        dialog.reversed = !dialog.reversed;
    }
}

/// Closes it, puts the list into the marked order and has that remembered.
pub fn take(model: &mut Model, follow: bool) -> Vec<Effect> {
    let Some(Dialog::Order(dialog)) = model.dialogs.pop() else { return Vec::new() };
    let Some(column) = dialog.list.get(dialog.at).copied() else { return Vec::new() };
    let order = Order { column, reversed: dialog.reversed, follow };
    model.fleet.put_in_order(order);
    let reversed = if order.reversed { ", reversed" } else { "" };
    let then = if order.moves() { "rows follow every sample" } else { "rows stay until you sort again" };
    model.hint(format!("sorted by {}{reversed}; {then}", column.column().head));
    vec![view::remember(model)]
}
