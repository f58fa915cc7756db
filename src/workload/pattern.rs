//! Which I/O comes next: sequential or random over a region, reads, writes or a mix.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::io::{Direction, Io};
use super::job::{Job, Rw};
use super::permutation::Permutation;
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

/// The I/Os of one worker: offsets and directions.
#[derive(Clone, Debug)]
pub struct Pattern {
    region: Region,
    order: Order,
    mix: Mix,
}

#[derive(Clone, Debug)]
enum Order {
    /// Blocks `first..end`, then again. Reads and writes each have a place of their own, as in fio.
    Sequential { next: [u64; 2], first: u64, end: u64 },
    /// Any place, each time anew.
    Random { rng: Box<Xoshiro256PlusPlus>, places: u64, step: u64 },
    /// Every place once, then again in another order.
    Once { order: Permutation, next: u64, places: u64, step: u64, key: u64 },
}

#[derive(Clone, Debug)]
enum Mix {
    Only(Direction),
    /// Reads where the upper half of a random number is below this, out of 2^32.
    Reads {
        rng: Box<Xoshiro256PlusPlus>,
        below: u64,
    },
}

impl Pattern {
    /// The I/Os of worker `index` of the job. They depend on the job and the index only: every engine sees the same
    /// ones. Workers draw from parts of the generator's sequence that are 2^128 numbers apart.
    ///
    /// In sequence the region is cut into as many even slices as there are workers; each goes through its own from
    /// beginning to end and then again, so that no worker finds in a cache what another one read. Where there are fewer
    /// blocks than workers, some share one.
    #[must_use]
    pub fn new(region: Region, job: &Job, index: u32) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(job.seed);
        for _ in 0..index {
            rng.jump();
        }
        let mix = Mix::of(job, &rng);
        let order = if job.rw.random() {
            let step = job.align.map_or(u64::from(region.bs), |a| a.0);
            let places = (region.bytes().0 - u64::from(region.bs)) / step + 1;
            if job.norandommap {
                Order::Random { rng: Box::new(rng), places, step }
            } else {
                let key = rng.next_u64();
                Order::Once { order: Permutation::new(places, key), next: 0, places, step, key }
            }
        } else {
            Order::slice(region, index, job.numjobs)
        };
        Self { region, order, mix }
    }

    /// The next I/O.
    #[inline]
    #[must_use]
    pub fn next_io(&mut self) -> Io {
        let direction = match &mut self.mix {
            Mix::Only(direction) => *direction,
            Mix::Reads { rng, below } => {
                if rng.next_u64() >> 32 < *below {
                    Direction::Read
                } else {
                    Direction::Write
                }
            }
        };
        let after = match &mut self.order {
            Order::Sequential { next, first, end } => {
                let next = &mut next[direction as usize];
                let block = *next;
                *next = if block + 1 == *end { *first } else { block + 1 };
                block * u64::from(self.region.bs)
            }
            Order::Random { rng, places, step } => below(rng, *places) * *step,
            Order::Once { step, .. } => {
                let step = *step;
                self.order.next_place() * step
            }
        };
        Io { offset: self.region.offset + after, direction }
    }
}

impl Order {
    /// Of an order without repeats. Apart, so that the registers it needs are not saved for those that are simpler.
    #[inline(never)]
    fn next_place(&mut self) -> u64 {
        let Order::Once { order, next, places, key, .. } = self else { return 0 };
        let place = order.of(*next);
        *next += 1;
        if *next == *places {
            *key = key.wrapping_add(1);
            (*order, *next) = (Permutation::new(*places, *key), 0);
        }
        place
    }

    fn slice(region: Region, index: u32, workers: u32) -> Self {
        let cut = |i: u32| {
            let at = u128::from(region.blocks) * u128::from(i) / u128::from(workers.max(1));
            u64::try_from(at).unwrap_or(region.blocks).min(region.blocks)
        };
        let first = cut(index).min(region.blocks - 1);
        let end = cut(index.saturating_add(1)).max(first + 1);
        Order::Sequential { next: [first; 2], first, end }
    }
}

impl Mix {
    fn of(job: &Job, offsets: &Xoshiro256PlusPlus) -> Self {
        match job.rw {
            Rw::Read | Rw::RandRead => Mix::Only(Direction::Read),
            Rw::Write | Rw::RandWrite => Mix::Only(Direction::Write),
            Rw::Rw | Rw::RandRw => {
                // 2^192 numbers away from the offsets.
                let mut rng = offsets.clone();
                rng.long_jump();
                Mix::Reads { rng: Box::new(rng), below: (u64::from(job.rwmixread.min(100)) << 32) / 100 }
            }
        }
    }
}

/// A number below `n`, each equally likely: multiply and take the high half, drawing again for the few low halves
/// that would favour some numbers (Lemire, "Fast random integer generation in an interval", 2019).
#[inline]
#[allow(clippy::cast_possible_truncation)] // the halves of a product are what is meant
fn below(rng: &mut Xoshiro256PlusPlus, n: u64) -> u64 {
    let product = u128::from(rng.next_u64()) * u128::from(n);
    if (product as u64) < n { fair(rng, n, product) } else { (product >> 64) as u64 }
}

#[cold]
#[allow(clippy::cast_possible_truncation)] // as above
fn fair(rng: &mut Xoshiro256PlusPlus, n: u64, mut product: u128) -> u64 {
    let unfair = n.wrapping_neg() % n;
    while (product as u64) < unfair {
        product = u128::from(rng.next_u64()) * u128::from(n);
    }
    (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::preset;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn job(keys: &[&str]) -> Job {
        let mut job = preset::find("randread-4k").unwrap().jobs().remove(0);
        for k in keys {
            job.set(k).unwrap();
        }
        job
    }

    fn pattern(region: Region, keys: &[&str], index: u32) -> Pattern {
        Pattern::new(region, &job(keys), index)
    }

    fn any_region() -> impl Strategy<Value = Region> {
        (0u64..1 << 40, 1u64..1 << 20, 1u32..1 << 21).prop_map(|(offset, blocks, bs)| Region {
            offset,
            blocks,
            bs,
        })
    }

    proptest! {
        #[test]
        fn a_region_is_whole_blocks_inside_the_target(
            offset in 0u64..1 << 40, extra in 0u64..1 << 30, size in proptest::option::of(1u64..1 << 30), bs in 1u32..1 << 21,
        ) {
            let target = Bytes(offset + extra);
            let Some(r) = Region::within(target, Bytes(offset), size.map(Bytes), bs) else {
                prop_assert!(extra.min(size.unwrap_or(u64::MAX)) < u64::from(bs));
                return Ok(());
            };
            prop_assert!(r.offset + r.bytes().0 <= target.0);
            prop_assert!(size.is_none_or(|s| r.bytes().0 <= s));
        }

        #[test]
        fn every_io_is_inside_and_on_its_step(r in any_region(), seed: u64, workers in 1u32..40, pick: prop::sample::Index, align in 1u64..1 << 16) {
            let index = u32::try_from(pick.index(workers as usize)).unwrap();
            let (numjobs, seed, align_key) = (format!("numjobs={workers}"), format!("seed={seed}"), format!("align={align}"));
            let bs = u64::from(r.bs);
            for (rw, step, keys) in [
                ("rw=read", bs, &[][..]),
                ("rw=rw", bs, &["rwmixread=30"][..]),
                ("rw=randread", bs, &[]),
                ("rw=randrw", bs, &["norandommap=0"]),
                ("rw=randwrite", align, &[align_key.as_str()]),
                ("rw=randread", align, &[align_key.as_str(), "norandommap=0"]),
            ] {
                let keys: Vec<&str> = [rw, &numjobs, &seed].into_iter().chain(keys.iter().copied()).collect();
                let mut p = pattern(r, &keys, index);
                for _ in 0..50 {
                    let o = p.next_io().offset;
                    prop_assert!(o >= r.offset && o + bs <= r.offset + r.bytes().0, "{:?}", keys);
                    prop_assert_eq!((o - r.offset) % step, 0);
                }
            }
        }

        #[test]
        fn workers_in_sequence_cover_the_region_once(blocks in 1u64..500, workers in 1u32..40) {
            let r = Region { offset: 0, blocks, bs: 1 };
            let mut seen = Vec::new();
            for i in 0..workers {
                let mut p = pattern(r, &["rw=read", &format!("numjobs={workers}")], i);
                let first = p.next_io().offset;
                let mut o = first;
                loop {
                    seen.push(o);
                    o = p.next_io().offset;
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
        fn the_same_seed_gives_the_same_ios_and_workers_differ(seed: u64, i in 0u32..8, once: bool) {
            let r = Region { offset: 0, blocks: 1 << 40, bs: 4096 };
            let map = if once { "norandommap=0" } else { "norandommap=1" };
            let take = |seed: u64, i| {
                let mut p = pattern(r, &["rw=randrw", map, &format!("seed={seed}")], i);
                (0..20).map(|_| p.next_io()).map(|io| (io.offset, io.direction)).collect::<Vec<_>>()
            };
            prop_assert_eq!(take(seed, i), take(seed, i));
            prop_assert_ne!(take(seed, i), take(seed, i + 1));
            prop_assert_ne!(take(seed, i), take(seed.wrapping_add(1), i));
        }

        #[test]
        fn without_repeats_every_block_is_met_once_a_pass(blocks in 2u64..300, seed: u64) {
            let mut p = pattern(Region { offset: 0, blocks, bs: 1 }, &["norandommap=0", &format!("seed={seed}")], 0);
            let pass: Vec<Vec<u64>> = (0..2).map(|_| (0..blocks).map(|_| p.next_io().offset).collect()).collect();
            for met in &pass {
                prop_assert_eq!(met.iter().collect::<BTreeSet<_>>().len() as u64, blocks);
            }
            if blocks > 20 {
                prop_assert_ne!(&pass[0], &pass[1], "a second pass has an order of its own");
            }
        }
    }

    #[test]
    fn random_blocks_are_equally_likely() {
        // Chi-square over 48 cells with 48,000 draws: mean 47, standard deviation under 10; 100 is beyond any luck.
        let mut p = pattern(Region { offset: 0, blocks: 48, bs: 1 }, &["seed=7"], 0);
        let mut cells = [0f64; 48];
        for _ in 0..48_000 {
            cells[usize::try_from(p.next_io().offset).unwrap()] += 1.0;
        }
        let chi: f64 = cells.iter().map(|c| (c - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi < 100.0, "chi-square {chi}");
    }

    #[test]
    fn a_mix_has_the_share_that_was_asked_for_and_an_order_of_its_own() {
        let r = Region { offset: 0, blocks: 1 << 30, bs: 4096 };
        for (share, low, high) in [(70, 6800, 7200), (0, 0, 0), (100, 10_000, 10_000)] {
            let mut p = pattern(r, &["rw=randrw", &format!("rwmixread={share}")], 0);
            let reads = (0..10_000).filter(|_| p.next_io().direction == Direction::Read).count();
            assert!((low..=high).contains(&reads), "{share}: {reads}");
        }
        // In sequence each direction goes on where it was itself.
        let mut p = pattern(r, &["rw=rw"], 0);
        let ios: Vec<Io> = (0..50).map(|_| p.next_io()).collect();
        for direction in Direction::BOTH {
            let own: Vec<u64> =
                ios.iter().filter(|i| i.direction == direction).map(|i| i.offset / 4096).collect();
            assert!(own.len() > 5 && own.iter().enumerate().all(|(i, b)| *b == i as u64), "{own:?}");
        }
    }
}
