//! Numbers below `n` in an order that looks random, each exactly once, in constant memory.

/// Rounds of the network. Four make a pseudo-random permutation out of a good round function (Luby and Rackoff, "How to
/// Construct Pseudorandom Permutations from Pseudorandom Functions", 1988).
const ROUNDS: u64 = 4;

/// A permutation of `0..n`: a Feistel network over the next power of four, walked along its cycle until it is back inside.
/// A map of the blocks met, as fio keeps one, would need a bit for each: 32 MiB for a TiB of 4 KiB blocks, and a search
/// that grows longer towards the end of a pass.
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    n: u64,
    half_bits: u32,
    key: u64,
}

impl Permutation {
    /// One of the permutations of `0..n`, `n` being at least 1, chosen by the key.
    #[must_use]
    pub fn new(n: u64, key: u64) -> Self {
        let bits = 64 - n.saturating_sub(1).leading_zeros();
        Self { n: n.max(1), half_bits: bits.div_ceil(2).max(1), key }
    }

    /// Where `i`, which is below `n`, goes. Fewer than four steps on average: the network's range is at most four times `n`.
    #[inline]
    #[must_use]
    pub fn of(&self, i: u64) -> u64 {
        let mut at = self.shuffled(i);
        while at >= self.n {
            at = self.shuffled(at);
        }
        at
    }

    #[inline]
    fn shuffled(&self, i: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = (i >> self.half_bits, i & mask);
        for round in 0..ROUNDS {
            (left, right) = (right, left ^ (mixed(right ^ self.key.wrapping_add(round << 56)) & mask));
        }
        left << self.half_bits | right
    }
}

/// The finaliser of `SplitMix64` (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
const fn mixed(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn every_number_comes_once(n in 1u64..3000, key: u64) {
            let p = Permutation::new(n, key);
            let met: BTreeSet<u64> = (0..n).map(|i| p.of(i)).collect();
            prop_assert_eq!(met.len() as u64, n);
            prop_assert!(met.last().is_some_and(|m| *m == n - 1));
        }

        #[test]
        fn large_ranges_stay_inside(n in 1u64..1 << 62, key: u64, pick in 0.0f64..1.0) {
            #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a test's statistics
            let i = ((n as f64 * pick) as u64).min(n - 1);
            prop_assert!(Permutation::new(n, key).of(i) < n);
        }
    }

    #[test]
    fn the_order_is_not_that_of_the_numbers() {
        // The rank correlation of a random order of 4096 has a standard deviation of 1/64; 0.08 is five of them.
        let n = 4096u64;
        for key in 1..5 {
            let p = Permutation::new(n, key);
            #[allow(clippy::cast_precision_loss)] // a test's statistics
            let d2: f64 = (0..n).map(|i| (i as f64 - p.of(i) as f64).powi(2)).sum();
            #[allow(clippy::cast_precision_loss)] // a test's statistics
            let rho = 1.0 - 6.0 * d2 / (n as f64 * (n as f64 * n as f64 - 1.0));
            assert!(rho.abs() < 0.08, "key {key}: {rho}");
        }
    }
}
