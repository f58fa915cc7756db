//! Which offset comes next: sequential or uniform random over the blocks of a region.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::units::Bytes;

/// The used part of a target: whole blocks only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Where it begins.
    pub offset: u64,
    /// Blocks in it; at least one.
    pub blocks: u64,
    /// Size of a block.
    pub bs: u32,
}

impl Region {
    /// The part of a target of `target` bytes from `offset` on, at most `size` bytes, cut down to whole blocks.
    /// None if not one block is left.
    #[must_use]
    pub fn within(target: Bytes, offset: Bytes, size: Option<Bytes>, bs: u32) -> Option<Self> {
        let rest = target.0.checked_sub(offset.0)?;
        let blocks = rest.min(size.map_or(u64::MAX, |s| s.0)) / u64::from(bs.max(1));
        (blocks > 0).then_some(Self { offset: offset.0, blocks, bs })
    }

    /// Its length.
    #[must_use]
    pub const fn bytes(&self) -> Bytes {
        Bytes(self.blocks * self.bs as u64)
    }
}

/// The offsets of one worker.
#[derive(Clone, Debug)]
pub struct Pattern {
    region: Region,
    order: Order,
}

#[derive(Clone, Debug)]
enum Order {
    /// Blocks `first..end`, then again.
    Sequential {
        next: u64,
        first: u64,
        end: u64,
    },
    Random(Box<Xoshiro256PlusPlus>),
}

impl Pattern {
    /// Sequential offsets of worker `index` of `workers`. The region is cut into as many even slices; each worker reads
    /// its own from beginning to end and then again, so that no worker finds in a cache what another one read.
    /// Where there are fewer blocks than workers, some share one.
    #[must_use]
    pub fn sequential(region: Region, index: u32, workers: u32) -> Self {
        let cut = |i: u32| {
            let at = u128::from(region.blocks) * u128::from(i) / u128::from(workers.max(1));
            u64::try_from(at).unwrap_or(region.blocks).min(region.blocks)
        };
        let first = cut(index).min(region.blocks - 1);
        let end = cut(index.saturating_add(1)).max(first + 1);
        Self { region, order: Order::Sequential { next: first, first, end } }
    }

    /// Random offsets of worker `index`, every block equally likely each time. They depend on the seed and the index
    /// only: every engine sees the same ones. Workers draw from parts of the generator's sequence that are 2^128
    /// numbers apart.
    #[must_use]
    pub fn random(region: Region, seed: u64, index: u32) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        for _ in 0..index {
            rng.jump();
        }
        Self { region, order: Order::Random(Box::new(rng)) }
    }

    /// The next offset.
    #[inline]
    #[must_use]
    pub fn next_offset(&mut self) -> u64 {
        let block = match &mut self.order {
            Order::Sequential { next, first, end } => {
                let block = *next;
                *next = if block + 1 == *end { *first } else { block + 1 };
                block
            }
            Order::Random(rng) => below(rng, self.region.blocks),
        };
        self.region.offset + block * u64::from(self.region.bs)
    }

    /// The region the offsets are in.
    #[must_use]
    pub const fn region(&self) -> Region {
        self.region
    }
}

/// A number below `n`, each equally likely: multiply and take the high half, drawing again for the few low halves
/// that would favour some numbers (Lemire, "Fast random integer generation in an interval", 2019).
#[inline]
#[allow(clippy::cast_possible_truncation)] // the halves of a product are what is meant
fn below(rng: &mut Xoshiro256PlusPlus, n: u64) -> u64 {
    let mut product = u128::from(rng.next_u64()) * u128::from(n);
    if (product as u64) < n {
        let unfair = n.wrapping_neg() % n;
        while (product as u64) < unfair {
            product = u128::from(rng.next_u64()) * u128::from(n);
        }
    }
    (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn every_offset_is_a_whole_block_inside(
            offset in 0u64..1 << 40, extra in 0u64..1 << 30, size in proptest::option::of(1u64..1 << 30), bs in 1u32..1 << 21,
            seed: u64, workers in 1u32..40, pick: prop::sample::Index,
        ) {
            let target = Bytes(offset + extra);
            let Some(r) = Region::within(target, Bytes(offset), size.map(Bytes), bs) else {
                prop_assert!(extra.min(size.unwrap_or(u64::MAX)) < u64::from(bs));
                return Ok(());
            };
            prop_assert!(r.offset + r.bytes().0 <= target.0);
            prop_assert!(size.is_none_or(|s| r.bytes().0 <= s));
            let i = u32::try_from(pick.index(workers as usize)).unwrap();
            for mut p in [Pattern::sequential(r, i, workers), Pattern::random(r, seed, i)] {
                for _ in 0..50 {
                    let o = p.next_offset();
                    prop_assert!(o >= r.offset && o + u64::from(bs) <= r.offset + r.bytes().0);
                    prop_assert_eq!((o - r.offset) % u64::from(bs), 0);
                }
            }
        }

        #[test]
        fn workers_in_sequence_cover_the_region_once(blocks in 1u64..500, workers in 1u32..40) {
            let r = Region { offset: 0, blocks, bs: 1 };
            let mut seen = Vec::new();
            for i in 0..workers {
                let mut p = Pattern::sequential(r, i, workers);
                let first = p.next_offset();
                let mut o = first;
                loop {
                    seen.push(o);
                    o = p.next_offset();
                    if o == first { break }
                }
            }
            let set: BTreeSet<u64> = seen.iter().copied().collect();
            prop_assert_eq!(set.len() as u64, blocks);
            if u64::from(workers) <= blocks {
                prop_assert_eq!(seen.len() as u64, blocks, "a block was read by two workers");
            }
        }

        #[test]
        fn the_same_seed_gives_the_same_offsets_and_workers_differ(seed: u64, i in 0u32..8) {
            let r = Region { offset: 0, blocks: 1 << 40, bs: 4096 };
            let take = |seed, i| { let mut p = Pattern::random(r, seed, i); (0..20).map(|_| p.next_offset()).collect::<Vec<_>>() };
            prop_assert_eq!(take(seed, i), take(seed, i));
            prop_assert_ne!(take(seed, i), take(seed, i + 1));
            prop_assert_ne!(take(seed, i), take(seed.wrapping_add(1), i));
        }
    }

    #[test]
    fn random_blocks_are_equally_likely() {
        // Chi-square over 48 cells with 48,000 draws: mean 47, standard deviation under 10; 100 is beyond any luck.
        let mut p = Pattern::random(Region { offset: 0, blocks: 48, bs: 1 }, 7, 0);
        let mut cells = [0f64; 48];
        for _ in 0..48_000 {
            cells[usize::try_from(p.next_offset()).unwrap()] += 1.0;
        }
        let chi: f64 = cells.iter().map(|c| (c - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi < 100.0, "chi-square {chi}");
    }
}
