//! Linear least squares by the normal equations, for the handful of columns that an experiment needs.

use super::summary::count;
use super::t_test::{Estimate, IDENTICAL};

/// A pivot below this share of its column's square sum means that the column says nothing new.
const SINGULAR: f64 = 1e-9;

/// One coefficient for each column, with its standard error and n - columns degrees of freedom. `None` if there are not more
/// rows than columns, or a column is a combination of others. Each row of `x` has as many entries as the first.
#[must_use]
pub fn fit(x: &[Vec<f64>], y: &[f64]) -> Option<Vec<Estimate>> {
    let columns = x.first()?.len();
    if x.len() <= columns || x.len() != y.len() || x.iter().any(|r| r.len() != columns) {
        return None;
    }
    let inner = |a: usize, b: usize| x.iter().map(|r| r[a] * r[b]).sum::<f64>();
    let normal: Vec<Vec<f64>> = (0..columns).map(|a| (0..columns).map(|b| inner(a, b)).collect()).collect();
    let inverse = inverted(normal)?;
    let right: Vec<f64> = (0..columns).map(|a| x.iter().zip(y).map(|(r, v)| r[a] * v).sum()).collect();
    let solved: Vec<f64> =
        inverse.iter().map(|row| row.iter().zip(&right).map(|(a, b)| a * b).sum()).collect();
    let residual = |(r, v): (&Vec<f64>, &f64)| v - r.iter().zip(&solved).map(|(a, b)| a * b).sum::<f64>();
    let left: Vec<f64> = x.iter().zip(y).map(residual).collect();
    // What rounding leaves of an exact fit is no error.
    let exact = left.iter().all(|v| v.abs() <= IDENTICAL);
    let df = count(x.len() - columns);
    let s2 = if exact { 0.0 } else { left.iter().map(|v| v * v).sum::<f64>() / df };
    let estimate =
        |(i, value): (usize, f64)| Estimate { value, error: (s2 * inverse[i][i].max(0.0)).sqrt(), df };
    Some(solved.into_iter().enumerate().map(estimate).collect())
}

/// The inverse of a symmetric positive matrix, by Gauss and Jordan with pivots.
fn inverted(mut a: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    let n = a.len();
    let size: Vec<f64> = (0..n).map(|i| a[i][i]).collect();
    for (i, row) in a.iter_mut().enumerate() {
        row.extend((0..n).map(|j| if i == j { 1.0 } else { 0.0 }));
    }
    for column in 0..n {
        let pivot = (column..n).max_by(|p, q| a[*p][column].abs().total_cmp(&a[*q][column].abs()))?;
        let value = a[pivot][column];
        if !value.is_finite() || value.abs() <= SINGULAR * size[column].max(f64::MIN_POSITIVE) {
            return None;
        }
        a.swap(column, pivot);
        let row: Vec<f64> = a[column].iter().map(|v| v / value).collect();
        for (i, other) in a.iter_mut().enumerate() {
            if i != column {
                let factor = other[column];
                for (v, p) in other.iter_mut().zip(&row) {
                    *v -= factor * p;
                }
            }
        }
        a[column] = row;
    }
    Some(a.into_iter().map(|row| row[n..].to_vec()).collect())
}
