//! A scratch file: made, filled and read, and gone with its last descriptor, however the program ends.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use super::job::Job;
use super::live::{LivePercentiles, Phase, Progress};
use super::target::{Target, TargetError, TargetKind};
use crate::clock::{Clock, SystemClock};
use crate::sys::attr::clean;
use crate::sys::root::SysRoot;
use crate::sys::scratch;
use crate::units::{Bytes, Nanos};

/// Size where none was asked for.
const DEFAULT: Bytes = Bytes(1 << 30);
/// Less than this says nothing of a device: its own cache holds it.
const LEAST: u64 = 16 << 20;

/// Makes a scratch file in `dir` for jobs, writes all of it with data that can not be compressed, brings it to the
/// device and drops it from the page cache. A file that was only allocated would be read as zeroes from memory, without
/// touching the device.
///
/// # Errors
/// No rights, no room (at most a tenth of the free space is used, and a GiB always left), a failed write, a stop.
pub fn make(
    root: &SysRoot,
    dir: &Path,
    jobs: &[Job],
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Result<Target, TargetError> {
    let shown = clean(dir.to_string_lossy().as_bytes());
    let free = scratch::free_space(dir).map_err(|e| TargetError::Open(shown.clone(), e))?;
    let size = size_for(&shown, jobs, free)?;
    let file =
        scratch::nameless(dir).map_err(|e| TargetError::NoScratch(format!("{e}; give another directory")))?;
    let began = SystemClock.monotonic();
    scratch::fill(&file, size, &mut |written| {
        progress(preparing(SystemClock.monotonic().since(began), written.0, size.0));
        if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .map_err(|e| match e.kind() {
        std::io::ErrorKind::Interrupted => TargetError::Stopped,
        _ if matches!(e.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG)) => {
            TargetError::Full(shown.clone(), e)
        }
        _ => TargetError::Io(shown.clone(), "writing the scratch file", e),
    })?;
    Target::of(root, file.into(), TargetKind::Scratch, format!("scratch file in {shown}"))
}

fn size_for(shown: &str, jobs: &[Job], free: Bytes) -> Result<Bytes, TargetError> {
    let most = scratch::largest(free).0;
    let default = DEFAULT.0.min(most);
    let of_one = |job: &Job| {
        if let Some(asked) = job.size {
            return asked.0.saturating_add(job.offset.0);
        }
        let one_block_each = job.bs.0.saturating_mul(u64::from(job.numjobs));
        default.max(LEAST.max(one_block_each).saturating_add(job.offset.0))
    };
    let size = jobs.iter().map(of_one).max().unwrap_or(default);
    if size > most {
        // Where nothing fits no size is of any use.
        let or_less = if most == 0 { "" } else { ", or a size that fits (--set size=)" };
        return Err(TargetError::NoScratch(format!(
            "{shown}: a scratch file of {} is too much for the {} that are free: at most a tenth is used and 1 GiB left, that is {}; give another directory{or_less}",
            Bytes(size),
            free,
            Bytes(most)
        )));
    }
    Ok(Bytes(size))
}

/// How far writing is, and how long it will take at this pace.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // an estimate in whole ns
fn preparing(elapsed: Nanos, written: u64, size: u64) -> Progress {
    let planned = Nanos((elapsed.0 as f64 * (size as f64 / written.max(1) as f64)) as u64);
    Progress {
        phase: Phase::Preparing,
        elapsed,
        planned: Some(planned),
        written: Some((Bytes(written), Bytes(size))),
        ios: 0,
        bytes: Bytes(0),
        iops: None,
        bytes_per_s: None,
        clat: LivePercentiles::default(),
        errors: 0,
        jobs: Vec::new(),
        histogram: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::preset;

    #[test]
    fn a_tenth_of_the_free_space_and_a_gib_left() {
        let mut job = preset::find("randread-4k").unwrap().jobs().remove(0);
        let gib = 1u64 << 30;
        assert_eq!(size_for("d", std::slice::from_ref(&job), Bytes(100 * gib)).unwrap(), DEFAULT);
        assert_eq!(size_for("d", std::slice::from_ref(&job), Bytes(5 * gib)).unwrap(), Bytes(gib / 2));
        assert_eq!(
            size_for("d", std::slice::from_ref(&job), Bytes(gib + 100 * (1 << 20))).unwrap(),
            Bytes(100 << 20)
        );
        let e = size_for("d", std::slice::from_ref(&job), Bytes(gib + (1 << 20))).unwrap_err().to_string();
        assert!(e.contains("1 GiB left") && e.contains("another directory"), "{e}");
        assert!(e.contains("--set size="), "{e}");
        let e = size_for("d", std::slice::from_ref(&job), Bytes(gib)).unwrap_err().to_string();
        assert!(e.ends_with("that is 0 B; give another directory"), "{e}");
        job.set("size=2g").unwrap();
        assert_eq!(size_for("d", std::slice::from_ref(&job), Bytes(100 * gib)).unwrap(), Bytes(2 * gib));
        assert!(size_for("d", std::slice::from_ref(&job), Bytes(10 * gib)).is_err());
    }
}
