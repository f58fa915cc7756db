//! The jobs of a trial: the workload with what its cell sets, for as long as the design says.

use crate::stats::splitmix64::SplitMix64;
use crate::workload::job::Job;

use super::cells::{self, CellsError};
use super::design::Design;

/// The jobs of a cell's trials in a block. Trials of the same block use the same places of the target, whatever their cell,
/// and the next block others; a cell out of range is the baseline, and so are trials of no cell.
///
/// # Errors
/// A preset or a value that there is not: of a design that was read from a file.
pub fn jobs_of(design: &Design, cell: usize, block: u32) -> Result<Vec<Job>, CellsError> {
    let Some(cell) = design.cells.get(cell).or_else(|| design.cells.first()) else {
        return Err(CellsError::NoFactor);
    };
    let mut jobs = cells::jobs(&design.factors, cell, &design.workload)?;
    let mut of_block = SplitMix64::new(design.seed.wrapping_add(u64::from(block)));
    for job in &mut jobs {
        job.runtime = design.trial;
        job.ramp = design.ramp;
        // What it does alone is not judged, and would double the time of every trial.
        job.foreground = false;
        job.seed = of_block.next_u64();
    }
    Ok(jobs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::asked::{Asked, design};
    use crate::experiment::cells::tests::queue;
    use std::time::Duration;

    #[test]
    fn a_block_has_its_places_and_the_design_its_times() {
        let factors = vec!["scheduler=none,bfq".to_owned(), "writer.bs=64k,1m".to_owned()];
        let asked = Asked { factors, together: true, ..Asked::new("vdb", "readers-vs-writer", 42) };
        let d = design(&asked, &queue()).unwrap().design;
        let (a, b) = (jobs_of(&d, 0, 1).unwrap(), jobs_of(&d, 1, 1).unwrap());
        assert!(a.iter().all(|j| (j.runtime, j.ramp) == (Duration::from_secs(8), Duration::from_secs(2))));
        let seeds = |jobs: &[Job]| jobs.iter().map(|j| j.seed).collect::<Vec<_>>();
        assert_eq!(seeds(&a), seeds(&b));
        assert_ne!(seeds(&a), seeds(&jobs_of(&d, 0, 2).unwrap()));
        assert_ne!(a[0].seed, a[1].seed);
        assert_eq!((a[1].bs.0, b[1].bs.0), (1 << 16, 1 << 20));
        assert_eq!(a[0], b[0]);
        assert!(a.iter().all(|j| !j.foreground), "cells are compared, not alone against together");
    }
}
