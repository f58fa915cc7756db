//! A scratch file: made, filled and read, and gone with its last descriptor, however the program ends.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use super::job::Job;
use super::live::{LivePercentiles, Phase, Progress};
use super::target::{Target, TargetError, TargetKind};
use crate::clock::{Clock, SystemClock};
use crate::sys::attr::clean;
use crate::sys::loopdev::{content, scratch_file};
use crate::sys::root::SysRoot;
use crate::units::{Bytes, Nanos};

/// Size where none was asked for.
const DEFAULT: Bytes = Bytes(1 << 30);
/// Always left free.
const LEFT: u64 = 1 << 30;
/// Less than this says nothing of a device: its own cache holds it.
const LEAST: u64 = 16 << 20;
const CHUNK: usize = 1 << 20;

/// Makes a scratch file in `dir` for a job, writes all of it with data that can not be compressed, brings it to the
/// device and drops it from the page cache. A file that was only allocated would be read as zeroes from memory, without
/// touching the device.
///
/// # Errors
/// No rights, no room (at most a tenth of the free space is used, and a GiB always left), a failed write, a stop.
pub fn make(
    root: &SysRoot,
    dir: &Path,
    job: &Job,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Result<Target, TargetError> {
    let shown = clean(dir.to_string_lossy().as_bytes());
    let fs = rustix::fs::statvfs(dir).map_err(|e| TargetError::Open(shown.clone(), e.into()))?;
    let size = size_for(&shown, job, fs.f_bavail.saturating_mul(fs.f_frsize))?;
    let file =
        scratch_file(dir).map_err(|e| TargetError::NoScratch(format!("{e}; give another directory")))?;
    fill(&file, &shown, size, stop, progress)?;
    let target = Target::of(root, file.into(), TargetKind::Scratch, format!("scratch file in {shown}"))?;
    target.drop_cache()?;
    Ok(target)
}

fn size_for(shown: &str, job: &Job, free: u64) -> Result<Bytes, TargetError> {
    let most = (free / 10).min(free.saturating_sub(LEFT));
    let one_block = job.bs.0.saturating_mul(u64::from(job.numjobs));
    let size = match job.size {
        Some(asked) => asked.0.saturating_add(job.offset.0),
        None => DEFAULT.0.min(most).max(LEAST.max(one_block).saturating_add(job.offset.0)),
    };
    if size > most {
        return Err(TargetError::NoScratch(format!(
            "{shown}: a scratch file of {} is too much for the {} that are free: at most a tenth is used and 1 GiB left, that is {}; give another directory, or a size that fits (--set size=)",
            Bytes(size),
            Bytes(free),
            Bytes(most)
        )));
    }
    Ok(Bytes(size))
}

fn fill(
    mut file: &File,
    shown: &str,
    size: Bytes,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), TargetError> {
    let failed = |what: &'static str| {
        let shown = shown.to_owned();
        move |e: std::io::Error| TargetError::Io(shown, what, e)
    };
    let began = SystemClock.monotonic();
    let mut told = began;
    let mut chunk = vec![0u8; CHUNK];
    let mut written = 0u64;
    while written < size.0 {
        if stop.load(Ordering::Relaxed) {
            return Err(TargetError::Stopped);
        }
        let n = usize::try_from(size.0 - written).unwrap_or(CHUNK).min(CHUNK);
        content(written, &mut chunk[..n]);
        file.write_all(&chunk[..n]).map_err(failed("writing the scratch file"))?;
        written += n as u64;
        let now = SystemClock.monotonic();
        if now.since(told) >= Nanos(100_000_000) || written == size.0 {
            told = now;
            progress(preparing(now.since(began), written, size.0));
        }
    }
    rustix::fs::fsync(file).map_err(|e| failed("bringing the scratch file to the device")(e.into()))
}

/// How far writing is, and how long it will take at this pace.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // an estimate in whole ns
fn preparing(elapsed: Nanos, written: u64, size: u64) -> Progress {
    let planned = Nanos((elapsed.0 as f64 * (size as f64 / written.max(1) as f64)) as u64);
    Progress {
        phase: Phase::Preparing,
        elapsed,
        planned: Some(planned),
        ios: 0,
        bytes: Bytes(0),
        iops: None,
        bytes_per_s: None,
        clat: LivePercentiles::default(),
        errors: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::preset;

    #[test]
    fn a_tenth_of_the_free_space_and_a_gib_left() {
        let mut job = preset::find("randread-4k").unwrap().job();
        let gib = 1u64 << 30;
        assert_eq!(size_for("d", &job, 100 * gib).unwrap(), DEFAULT);
        assert_eq!(size_for("d", &job, 5 * gib).unwrap(), Bytes(gib / 2));
        assert_eq!(size_for("d", &job, gib + 100 * (1 << 20)).unwrap(), Bytes(100 << 20));
        let e = size_for("d", &job, gib + (1 << 20)).unwrap_err().to_string();
        assert!(e.contains("1 GiB left") && e.contains("another directory"), "{e}");
        job.set("size=2g").unwrap();
        assert_eq!(size_for("d", &job, 100 * gib).unwrap(), Bytes(2 * gib));
        assert!(size_for("d", &job, 10 * gib).is_err());
    }
}
