//! What benches that measure two kinds of runs in turns have in common: a device in memory, their order, the noise.

use std::ops::ControlFlow;
use std::path::Path;

use blktune::sys::loopdev::{self, LoopDevice, LoopOptions};
use blktune::sys::scratch;
use blktune::units::Bytes;
use rand_core::RngCore;

type Error = Box<dyn std::error::Error>;

/// A loop device over a nameless file in memory, where there is such a place: what is left is the block layer.
pub(crate) fn device_in_memory(mib: u64) -> Result<LoopDevice, Error> {
    loopdev::available()?;
    let memory = Path::new("/dev/shm");
    let dir = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
    let file = scratch::nameless(&dir)?;
    scratch::fill(&file, Bytes(mib << 20), &mut |_| ControlFlow::Continue(()))?;
    Ok(LoopDevice::over(file, LoopOptions::default())?)
}

/// So many runs of each of two kinds, 0 and 1, in random order.
pub(crate) fn order(runs: usize, rng: &mut impl RngCore) -> Result<Vec<usize>, Error> {
    let mut order: Vec<usize> = (0..2 * runs).map(|i| i % 2).collect();
    for i in (1..order.len()).rev() {
        order.swap(i, usize::try_from(rng.next_u64() % (i as u64 + 1))?);
    }
    Ok(order)
}

/// How far two halves of the runs of one kind are apart: the logarithm of the ratio of every other one to the rest.
pub(crate) fn between_halves(figures: &[f64]) -> f64 {
    let half = |from| figures.iter().skip(from).step_by(2).sum::<f64>();
    (half(0) / half(1)).ln()
}

/// The standard deviation of such logarithms, which are about 0 where nothing differs.
pub(crate) fn spread(noise: &[f64]) -> f64 {
    #[allow(clippy::cast_precision_loss)] // some rounds
    let rounds = noise.len() as f64;
    (noise.iter().map(|n| n * n).sum::<f64>() / rounds).sqrt()
}

/// The median, and the least and the most, of what is not empty.
pub(crate) fn summary(values: &mut [f64]) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    let last = values.len() - 1;
    (f64::midpoint(values[last / 2], values[values.len() / 2]), values[0], values[last])
}
