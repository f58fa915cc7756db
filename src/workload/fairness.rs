//! Who got how much of what the device gave.

use serde::Serialize;

/// Below this share of what would be fair somebody counts as starved.
const STARVED: f64 = 0.25;

/// One that competes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Portion {
    /// A job, or a worker of it.
    pub name: String,
    /// Share of all data moved, 0 to 1.
    pub share: f64,
    /// The share it would have if all workers got the same.
    pub fair_share: f64,
    /// It got less than a quarter of its fair share.
    pub starved: bool,
}

/// How the data moved was shared out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fairness {
    /// Jobs, each with the fair share of its workers.
    pub jobs: Vec<Portion>,
    /// Jain's index over the workers of the same job, the least over all jobs: 1 if all got the same, 1/n if one of n got
    /// all (Jain, Chiu and Hawe, "A Quantitative Measure of Fairness", 1984).
    pub worker_index: f64,
    /// Workers that got less than a quarter of the mean of their job.
    pub starved_workers: Vec<String>,
}

/// From the bytes each worker moved, by job. None if nothing competes with anything: a single worker, or nothing moved.
#[must_use]
#[allow(clippy::cast_precision_loss)] // shares
pub fn judge(jobs: &[(String, Vec<u64>)]) -> Option<Fairness> {
    let workers: usize = jobs.iter().map(|(_, w)| w.len()).sum();
    let all: u64 = jobs.iter().flat_map(|(_, w)| w).sum();
    if workers < 2 || all == 0 {
        return None;
    }
    let portions = jobs.iter().map(|(name, bytes)| {
        let share = bytes.iter().sum::<u64>() as f64 / all as f64;
        let fair_share = bytes.len() as f64 / workers as f64;
        Portion { name: name.clone(), share, fair_share, starved: share < fair_share * STARVED }
    });
    let mut worker_index = 1.0f64;
    let mut starved_workers = Vec::new();
    for (name, bytes) in jobs {
        let n = bytes.len() as f64;
        let sum: f64 = bytes.iter().map(|b| *b as f64).sum();
        let squares: f64 = bytes.iter().map(|b| (*b as f64).powi(2)).sum();
        if squares > 0.0 {
            worker_index = worker_index.min(sum * sum / (n * squares));
        }
        let mean = sum / n;
        let starved = bytes.iter().enumerate().filter(|(_, b)| (**b as f64) < mean * STARVED);
        starved_workers.extend(starved.map(|(i, _)| format!("{name}/{i}")));
    }
    Some(Fairness { jobs: portions.collect(), worker_index, starved_workers })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_measured_against_what_would_be_fair() {
        let f = judge(&[("readers".to_owned(), vec![100, 100, 100, 100]), ("writer".to_owned(), vec![3600])])
            .unwrap();
        assert_eq!((f.jobs[0].share, f.jobs[0].fair_share, f.jobs[0].starved), (0.1, 0.8, true));
        assert_eq!((f.jobs[1].share, f.jobs[1].fair_share, f.jobs[1].starved), (0.9, 0.2, false));
        assert!((f.worker_index - 1.0).abs() < 1e-12 && f.starved_workers.is_empty());
        let f = judge(&[("j".to_owned(), vec![400, 0, 0, 0])]).unwrap();
        assert!((f.worker_index - 0.25).abs() < 1e-12);
        assert_eq!(f.starved_workers, ["j/1", "j/2", "j/3"]);
    }

    #[test]
    fn one_alone_is_neither_fair_nor_unfair() {
        assert_eq!(judge(&[("j".to_owned(), vec![5])]), None);
        assert_eq!(judge(&[("j".to_owned(), vec![0, 0])]), None);
    }
}
