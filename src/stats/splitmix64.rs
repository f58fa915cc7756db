//! `SplitMix64` (Steele, Lea and Flood 2014): the generator of schedules and resamples, so that a seed gives the same
//! everywhere.

/// The generator; its state is its seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// Starts at a seed; every seed is as good.
    #[must_use]
    pub const fn new(seed: u64) -> SplitMix64 {
        SplitMix64(seed)
    }

    /// The next 64 bits.
    pub const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// An index below `n` (0 if `n` is 0), from the upper 32 bits by multiplication.
    pub fn index(&mut self, n: u32) -> usize {
        let high = self.next_u64() >> 32;
        // Below n, so it fits.
        usize::try_from((high * u64::from(n)) >> 32).unwrap_or(0)
    }

    /// The top bit.
    pub const fn toss(&mut self) -> bool {
        self.next_u64() >> 63 == 1
    }
}
