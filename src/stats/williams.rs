//! Orders in which every cell follows every other equally often (Williams 1949).

/// Sequences of the cells 0 to `n - 1`: each once a row; each ordered pair of neighbours once (`n` even, `n` rows) or twice
/// (`n` odd, `2n` rows, the second half mirrored).
#[must_use]
pub fn sequences(n: usize) -> Vec<Vec<usize>> {
    // 0, 1, n-1, 2, n-2, ...: each step differs from the others.
    let first: Vec<usize> =
        (0..n).map(|i| if i % 2 == 1 { i.div_ceil(2) } else { (n - i / 2) % n }).collect();
    let mut rows: Vec<Vec<usize>> =
        (0..n).map(|shift| first.iter().map(|c| (c + shift) % n).collect()).collect();
    if n % 2 == 1 {
        rows.extend(rows.clone().into_iter().map(|row| row.into_iter().rev().collect::<Vec<_>>()));
    }
    rows
}

/// Rows of a complete set for `n` cells; only complete sets are balanced against carry-over.
#[must_use]
pub const fn complete_set(n: usize) -> usize {
    if n.is_multiple_of(2) { n } else { 2 * n }
}
