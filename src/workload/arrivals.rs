//! When the I/Os of an open loop are due: at a rate that does not depend on the answers, so that a device that stalls is
//! charged for every I/O that had to wait (Schroeder, Wierman and Harchol-Balter, "Open Versus Closed: A Cautionary
//! Tale", 2006; Tene on "coordinated omission").

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;

use crate::units::Nanos;

/// How arrivals are spread, fio's `rate_process`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RateProcess {
    /// Evenly.
    #[default]
    Fixed,
    /// As from many clients that know nothing of one another: times between two are exponentially distributed.
    Poisson,
}

impl RateProcess {
    /// The word of `--set rate_process=`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            RateProcess::Fixed => "fixed",
            RateProcess::Poisson => "poisson",
        }
    }

    /// Reads the word.
    ///
    /// # Errors
    /// The words there are.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            "fixed" | "linear" => Ok(RateProcess::Fixed),
            "poisson" => Ok(RateProcess::Poisson),
            _ => Err("it is fixed or poisson".to_owned()),
        }
    }
}

/// The arrivals of one worker.
#[derive(Clone, Debug)]
pub struct Arrivals {
    begin: u64,
    /// Nanoseconds between two, on average.
    mean: f64,
    /// Of the next one, since `begin`. In floating point it is exact to a microsecond for thirty days.
    after: f64,
    spread: Spread,
}

#[derive(Clone, Debug)]
enum Spread {
    Fixed { next: u64, phase: f64 },
    Poisson(Box<Xoshiro256PlusPlus>),
}

impl Arrivals {
    /// Arrivals at `per_s` a second for worker `index` of `workers`. Those of all workers together are spread evenly, too,
    /// with fixed arrivals; with Poisson's each worker draws its own from the seed.
    #[must_use]
    pub fn new(process: RateProcess, per_s: f64, seed: u64, index: u32, workers: u32) -> Self {
        let mean = 1e9 / per_s;
        let (after, spread) = match process {
            RateProcess::Fixed => {
                let phase = mean * f64::from(index) / f64::from(workers.max(1));
                (phase, Spread::Fixed { next: 0, phase })
            }
            RateProcess::Poisson => {
                let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
                // Away from the offsets, which draw from the beginning of the sequence.
                rng.long_jump();
                rng.long_jump();
                for _ in 0..index {
                    rng.jump();
                }
                let mut rng = Box::new(rng);
                (exponential(&mut rng, mean), Spread::Poisson(rng))
            }
        };
        Self { begin: 0, mean, after, spread }
    }

    /// Says when time begins.
    pub const fn begin(&mut self, at: Nanos) {
        self.begin = at.0;
    }

    /// When the next I/O is due.
    #[inline]
    #[must_use]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // never negative; whole nanoseconds are meant
    pub fn due(&self) -> Nanos {
        Nanos(self.begin + self.after as u64)
    }

    /// The next I/O was taken.
    #[inline]
    #[allow(clippy::cast_precision_loss)] // as above
    pub fn take(&mut self) {
        match &mut self.spread {
            Spread::Fixed { next, phase } => {
                // From the count, so that rounding does not add up.
                *next += 1;
                self.after = *phase + self.mean * *next as f64;
            }
            Spread::Poisson(rng) => self.after += exponential(rng, self.mean),
        }
    }

    /// How many more were due before an instant. Estimated where there are very many.
    #[must_use]
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // an estimate
    pub fn outstanding(mut self, until: Nanos) -> u64 {
        const COUNTED: u64 = 1_000_000;
        let mut n = 0;
        while self.due() < until {
            if n == COUNTED {
                return n + (until.since(self.due()).0 as f64 / self.mean) as u64;
            }
            self.take();
            n += 1;
        }
        n
    }
}

/// An exponentially distributed time by inversion, from 53 random bits and never infinite.
#[allow(clippy::cast_precision_loss)] // 53 bits are exact
fn exponential(rng: &mut Xoshiro256PlusPlus, mean: f64) -> f64 {
    let uniform = ((rng.next_u64() >> 11) as f64 + 1.0) / (1u64 << 53) as f64;
    -uniform.ln() * mean
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::histogram::Histogram;

    fn times(mut a: Arrivals, n: usize) -> Vec<u64> {
        (0..n)
            .map(|_| {
                let due = a.due().0;
                a.take();
                due
            })
            .collect()
    }

    #[test]
    fn fixed_arrivals_keep_their_rate_for_ever_and_workers_interleave() {
        let mut a = Arrivals::new(RateProcess::Fixed, 3.0, 1, 0, 1);
        a.begin(Nanos(1000));
        assert_eq!(times(a.clone(), 4), [1000, 333_334_333, 666_667_666, 1_000_001_000]);
        for _ in 0..3 * 86_400 {
            a.take();
        }
        assert_eq!(a.due(), Nanos(86_400 * Nanos::SECOND.0 + 1000));
        let second = Arrivals::new(RateProcess::Fixed, 10.0, 1, 1, 2);
        assert_eq!(times(second, 2), [50_000_000, 150_000_000]);
    }

    #[test]
    #[allow(clippy::cast_precision_loss)] // statistics
    fn poisson_arrivals_have_the_mean_and_the_spread() {
        let n = 40_000;
        let all = times(Arrivals::new(RateProcess::Poisson, 1000.0, 7, 0, 1), n);
        let gaps: Vec<f64> = all.windows(2).map(|w| (w[1] - w[0]) as f64 / 1e6).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let sd = (gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
        // An exponential distribution's deviation is its mean; over 40,000 both are within half a percent of 1 ms, and 3%
        // is beyond luck.
        assert!((mean - 1.0).abs() < 0.03 && (sd - 1.0).abs() < 0.03, "{mean} {sd}");
        assert_ne!(all, times(Arrivals::new(RateProcess::Poisson, 1000.0, 7, 1, 2), n));
        assert_eq!(all, times(Arrivals::new(RateProcess::Poisson, 1000.0, 7, 0, 2), n));
    }

    #[test]
    fn what_was_not_started_is_counted() {
        let a = Arrivals::new(RateProcess::Fixed, 1000.0, 1, 0, 1);
        assert_eq!(a.outstanding(Nanos::SECOND), 1000);
        assert_eq!(
            Arrivals::new(RateProcess::Fixed, 1e6, 1, 0, 1).outstanding(Nanos(5_000_000_000)),
            5_000_000
        );
    }

    #[test]
    fn a_stall_is_charged_to_all_that_had_to_wait_for_it() {
        // One I/O a millisecond; each takes a millisecond, but one takes a second and those that queued behind it are then
        // answered at once.
        let mut a = Arrivals::new(RateProcess::Fixed, 1000.0, 1, 0, 1);
        let (mut latency, mut service) = (Histogram::new(), Histogram::new());
        let mut free = 0;
        for i in 0..2000 {
            let due = a.due().0;
            a.take();
            let began = due.max(free);
            let took = match i {
                0..1000 => 1_000_000,
                1000 => 1_000_000_000,
                _ => 0,
            };
            free = began + took;
            latency.record(free - due);
            if i <= 1000 {
                service.record(took);
            }
        }
        let ms = |h: &Histogram, p| h.percentile(p).map(|n| n.0.div_ceil(1000).saturating_sub(1) / 1000);
        // Without the schedule the stall is one I/O of a thousand and does not show.
        assert_eq!((ms(&service, 5_000), ms(&service, 9_900)), (Some(1), Some(1)));
        assert_eq!(latency.count(), 2000);
        assert_eq!(
            (ms(&latency, 5_000), ms(&latency, 7_500), ms(&latency, 9_900)),
            (Some(1), Some(500), Some(980))
        );
    }
}
