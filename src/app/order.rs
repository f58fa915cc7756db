//! The order of the list: by a column, once or followed.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::columns::{Cell, Column, ColumnId, Subject};
use super::fleet::Entry;
use crate::sys::name::natural_order;

/// What the list is ordered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// The column.
    pub column: ColumnId,
    /// Least number first, or the alphabet from its end. The unknown comes last all the same.
    pub reversed: bool,
    /// Rows move with every sample. Without it they stay where the last order put them.
    pub follow: bool,
}

impl Default for Order {
    /// By name.
    fn default() -> Self {
        Self { column: ColumnId::Name, reversed: false, follow: false }
    }
}

impl Order {
    /// Whether a sample can move rows.
    #[must_use]
    pub fn moves(self) -> bool {
        self.follow && !self.column.column().constant()
    }

    /// The column whose heading says that rows follow it.
    #[must_use]
    pub fn followed(self) -> Option<ColumnId> {
        self.follow.then_some(self.column)
    }

    /// Puts devices into this order.
    pub(super) fn sort(self, entries: &mut Vec<Entry>) {
        let places = {
            let mut keyed: Vec<(Key<'_>, usize)> =
                entries.iter().enumerate().map(|(i, e)| (self.key(e), i)).collect();
            keyed.sort_by(|(a, _), (b, _)| self.compare(a, b));
            keyed.into_iter().map(|(_, i)| i).collect::<Vec<_>>()
        };
        if places.iter().enumerate().all(|(to, from)| to == *from) {
            return;
        }
        let mut from: Vec<Option<Entry>> = std::mem::take(entries).into_iter().map(Some).collect();
        entries.extend(places.into_iter().filter_map(|i| from[i].take()));
    }

    /// Lets newcomers in where this order has them, without moving those that are there: each before the first that comes
    /// after it.
    pub(super) fn let_in(self, entries: &mut Vec<Entry>, mut newcomers: Vec<Entry>) {
        if newcomers.is_empty() {
            return;
        }
        self.sort(&mut newcomers);
        let there = std::mem::take(entries);
        entries.reserve(there.len() + newcomers.len());
        let mut newcomers = newcomers.into_iter().peekable();
        for entry in there {
            while let Some(new) = newcomers.next_if(|n| self.compare(&self.key(n), &self.key(&entry)).is_lt())
            {
                entries.push(new);
            }
            entries.push(entry);
        }
        entries.extend(newcomers);
    }

    fn key(self, entry: &Entry) -> Key<'_> {
        let column: &Column = self.column.column();
        let value = match column.value(Subject::Device(entry)) {
            _ if self.column == ColumnId::Name => Value::Unknown,
            Cell::Number(v) if v.is_finite() => Value::Number(v),
            Cell::Text(text) if !text.is_empty() => Value::Text(text),
            _ => Value::Unknown,
        };
        Key { value, name: entry.device.name().sysfs() }
    }

    fn compare(self, a: &Key<'_>, b: &Key<'_>) -> Ordering {
        let by_name = || natural_order(a.name, b.name);
        if self.column == ColumnId::Name {
            return turned(by_name(), self.reversed);
        }
        let by_value = match (&a.value, &b.value) {
            (Value::Number(a), Value::Number(b)) => turned(b.total_cmp(a), self.reversed),
            (Value::Text(a), Value::Text(b)) => turned(natural_order(a, b), self.reversed),
            (Value::Unknown, Value::Unknown) => Ordering::Equal,
            // A column has values of one sort only, so what counts is that the unknown comes last.
            (Value::Unknown, _) | (Value::Text(_), Value::Number(_)) => Ordering::Greater,
            (_, Value::Unknown) | (Value::Number(_), Value::Text(_)) => Ordering::Less,
        };
        by_value.then_with(by_name)
    }
}

const fn turned(order: Ordering, reversed: bool) -> Ordering {
    if reversed { order.reverse() } else { order }
}

struct Key<'a> {
    value: Value<'a>,
    name: &'a str,
}

enum Value<'a> {
    Number(f64),
    Text(Cow<'a, str>),
    Unknown,
}
