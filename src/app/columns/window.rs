//! Which columns are on the screen: the name, and as many of the others as fit behind those scrolled out at the left.

use super::{Column, ColumnId};

/// A column on the screen.
#[derive(Clone, Copy)]
pub struct Placed {
    /// Which.
    pub column: &'static Column,
    /// Cells it has here.
    pub width: usize,
}

/// The columns on the screen. The name is not among them: it is always there.
pub struct Window {
    /// From left to right, each behind one blank.
    pub placed: Vec<Placed>,
    /// There are more at the left.
    pub more_left: bool,
    /// There are more at the right.
    pub more_right: bool,
}

/// Cells before the other columns: the marker and the name.
#[must_use]
pub fn fixed() -> usize {
    1 + ColumnId::Name.column().width
}

/// Lays out the columns from the one at `from` on in a terminal of this width. The column whose figures the list follows
/// needs a cell for its mark.
#[must_use]
pub fn window(columns: &[ColumnId], from: usize, width: usize, followed: Option<ColumnId>) -> Window {
    let room = width.saturating_sub(fixed());
    let from = from.min(columns.len().saturating_sub(1));
    let wanted = |id: &ColumnId| {
        let column = id.column();
        column.width.max(if followed == Some(*id) { column.head.len() + 1 } else { 0 })
    };
    let mut placed = Vec::new();
    let mut used = 0;
    for (i, id) in columns.iter().enumerate().skip(from) {
        let width = wanted(id);
        // The last cell of the screen says that there are more.
        let mark = usize::from(i + 1 < columns.len());
        let fits = used + 1 + width + mark <= room;
        // One column is shown however little room there is; what does not fit of it is cut.
        if !fits && !placed.is_empty() {
            break;
        }
        used += 1 + width;
        placed.push(Placed { column: id.column(), width });
    }
    let more_right = from + placed.len() < columns.len();
    grow(&mut placed, room.saturating_sub(used + usize::from(more_right)));
    Window { placed, more_left: from > 0, more_right }
}

/// Shares what room is left among the columns that take more.
fn grow(placed: &mut [Placed], spare: usize) {
    let wish = |p: &Placed| p.column.most.saturating_sub(p.width);
    let wishes: usize = placed.iter().map(wish).sum();
    if wishes == 0 {
        return;
    }
    let shared = spare.min(wishes);
    let mut left = shared;
    for p in placed.iter_mut() {
        let more = wish(p) * shared / wishes;
        p.width += more;
        left -= more;
    }
    // What the division left over.
    for p in placed.iter_mut() {
        let more = wish(p).min(left);
        p.width += more;
        left -= more;
    }
}

/// How far the list may be scrolled: so far that the last column is on the screen, and no further.
#[must_use]
pub fn furthest(columns: &[ColumnId], width: usize, followed: Option<ColumnId>) -> usize {
    (0..columns.len()).find(|&from| !window(columns, from, width, followed).more_right).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::{DEFAULT, TABLE};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_wide_terminal_shows_all_and_a_narrow_one_scrolls() {
        let w = window(DEFAULT, 0, 80, None);
        assert_eq!((w.placed.len(), w.more_left, w.more_right), (10, false, true));
        let w = window(DEFAULT, 0, 80, Some(ColumnId::Busy));
        assert_eq!((w.placed.len(), w.more_right), (10, true));
        let w = window(DEFAULT, furthest(DEFAULT, 80, None), 80, None);
        assert_eq!((w.placed.last().map(|p| p.column.id), w.more_right), (Some(ColumnId::Model), false));
        assert_eq!(furthest(DEFAULT, 120, None), 0);
        let w = window(DEFAULT, 0, 200, None);
        assert_eq!(w.placed.iter().rev().take(2).map(|p| p.width).collect::<Vec<_>>(), [28, 48]);
    }

    proptest! {
        #[test]
        fn columns_and_marks_fit_and_none_is_out_of_reach(
            order in Just(TABLE.iter().map(|c| c.id).skip(1).collect::<Vec<_>>()).prop_shuffle(),
            count in 0usize..31, width in 60usize..250, follow in 0usize..31,
        ) {
            let columns = &order[..count];
            let followed = Some(order[follow]);
            let furthest = furthest(columns, width, followed);
            let mut seen = Vec::new();
            for from in 0..=furthest {
                let w = window(columns, from, width, followed);
                prop_assert_eq!(w.placed.is_empty(), columns.is_empty());
                let used: usize = w.placed.iter().map(|p| 1 + p.width).sum();
                prop_assert!(fixed() + used + usize::from(w.more_right) <= width);
                prop_assert_eq!(w.more_left, from > 0);
                seen.extend(w.placed.iter().map(|p| p.column.id));
            }
            prop_assert!(columns.iter().all(|c| seen.contains(c)));
        }
    }
}
