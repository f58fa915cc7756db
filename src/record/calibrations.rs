//! The calibrations that were made, in one small file in the directory of the program's state.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::RecordError;
use super::files::Dir;
use super::reader::cleaned;
use crate::experiment::calibration::{Calibration, Here};
use crate::experiment::design::Design;

/// Longest file that is read. A calibration has some kilobytes.
const LONGEST: u64 = 4 << 20;
/// More are not kept; the oldest go.
const MOST: usize = 200;
const FILE: &str = "calibrations.json";

fn place(state: &Path) -> PathBuf {
    state.join("calibrations")
}

/// Keeps a calibration in place of that of the same device and workload before.
///
/// # Errors
/// The file can not be written, or the directory is not this user's.
pub fn keep(state: &Path, calibration: &Calibration) -> Result<(), RecordError> {
    let path = place(state);
    let io = |source| RecordError::Io { path: path.clone(), source };
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&path).map_err(io)?;
    let dir = Dir::ours(&path)?;
    let mut all = read(&dir);
    all.retain(|c| (&c.identity, &c.shape) != (&calibration.identity, &calibration.shape));
    all.drain(..all.len().saturating_sub(MOST - 1));
    all.push(calibration.clone());
    dir.replace(FILE, &serde_json::to_vec(&all).map_err(|e| io(e.into()))?)
}

/// The last calibration that ran what a cell of the design runs: of this very device, else of one that had its name. None if
/// there is none, or none that can be read: it only advises, and a new one is made in minutes. Whether it still holds says
/// [`Calibration::stale`].
#[must_use]
pub fn last(state: &Path, design: &Design, here: &Here<'_>) -> Option<Calibration> {
    let dir = Dir::open(&place(state)).ok()?;
    let all: Vec<Calibration> = read(&dir).into_iter().filter(|c| c.is_about(design)).collect();
    let last =
        |of: &dyn Fn(&Calibration) -> bool| all.iter().filter(|c| of(c)).max_by_key(|c| c.at_s).cloned();
    last(&|c| c.identity == here.identity).or_else(|| last(&|c| c.device == here.device))
}

/// All that can be read, in the order they were kept.
fn read(dir: &Dir) -> Vec<Calibration> {
    let Ok(Some((bytes, true))) = dir.read(FILE, LONGEST) else { return Vec::new() };
    let all = serde_json::from_slice::<Vec<Value>>(&bytes).unwrap_or_default();
    let one = |v: Value| serde_json::from_value::<Calibration>(cleaned(v)).ok();
    all.into_iter().filter_map(one).filter(Calibration::makes_sense).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::asked::{Asked, design};
    use crate::experiment::calibration::Shape;
    use crate::experiment::verdict::Verdict;
    use crate::sys::queue::QueueState;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn aa(job: &str) -> Design {
        let asked = Asked { calibrate: true, ..Asked::new("cciss/c0d0", job, 1) };
        design(&asked, &QueueState::default()).unwrap().design
    }

    fn taken(job: &str) -> Calibration {
        Calibration {
            device: "cciss/c0d0".to_owned(),
            identity: "wwid naa.5".to_owned(),
            kernel: "6.18.4".to_owned(),
            at_s: 5,
            shape: Shape::of(&aa(job), 0).unwrap(),
            settings: std::collections::BTreeMap::new(),
            spread: 0.01,
            blocks: 6,
            verdict: Verdict::Equivalent,
            sentence: "Equivalent.".to_owned(),
        }
    }

    fn found(state: &Path, job: &str, device: &str, identity: &str) -> Option<Calibration> {
        let (device, identity, queue) = (device.to_owned(), identity.to_owned(), QueueState::default());
        last(state, &aa(job), &Here { device, identity, kernel: String::new(), now_s: 9, found: &queue })
    }

    #[test]
    fn the_last_of_each_device_and_workload_is_found_again() {
        let state = tempfile::tempdir().unwrap();
        let state = state.path().join("blktune");
        let of = |job: &str, device: &str, identity: &str| found(&state, job, device, identity);
        assert_eq!(of("randread-4k", "sda", "wwid naa.5"), None);
        keep(&state, &Calibration { at_s: 1, ..taken("randread-4k") }).unwrap();
        keep(&state, &taken("randread-4k")).unwrap();
        keep(&state, &Calibration { at_s: 3, ..taken("seqread-1m") }).unwrap();
        assert_eq!(
            of("randread-4k", "sda", "wwid naa.5"),
            Some(taken("randread-4k")),
            "whatever its name is now"
        );
        assert_eq!(of("seqread-1m", "sda", "wwid naa.5").unwrap().at_s, 3);
        assert_eq!(of("randread-4k-qd32", "sda", "wwid naa.5"), None);
        assert_eq!(of("randread-4k", "sda", "wwid naa.6"), None);
        assert!(of("randread-4k", "cciss/c0d0", "wwid naa.6").is_some(), "to say that it was another device");
        let file = place(&state).join(FILE);
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let all: Vec<Value> = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        assert_eq!(all.len(), 2, "the one before is replaced");
        for n in 0..MOST {
            keep(&state, &Calibration { identity: n.to_string(), ..taken("seqread-1m") }).unwrap();
        }
        assert_eq!(read(&Dir::open(&place(&state)).unwrap()).len(), MOST);
    }

    #[test]
    fn what_is_no_calibration_is_none() {
        let state = tempfile::tempdir().unwrap();
        let state = state.path();
        keep(state, &taken("randread-4k")).unwrap();
        let file = place(state).join(FILE);
        let write = |text: &[u8]| std::fs::write(&file, text).unwrap();
        let none = || found(state, "randread-4k", "sda", "wwid naa.5").is_none();
        for text in ["", "{}", "null", "[3, {}]", r#"[{"device":"sda","spread":1e999}]"#] {
            write(text.as_bytes());
            assert!(none(), "{text}");
        }
        let with = |c: &Calibration| serde_json::to_vec(&[c]).unwrap();
        write(&with(&Calibration { spread: -1.0, ..taken("randread-4k") }));
        assert!(none());
        write(&with(&Calibration { sentence: "a\u{1b}[2Jb".to_owned(), ..taken("randread-4k") }));
        assert!(!found(state, "randread-4k", "sda", "wwid naa.5").unwrap().sentence.contains('\u{1b}'));
        std::fs::remove_file(&file).unwrap();
        let elsewhere = state.join("elsewhere");
        std::fs::write(&elsewhere, with(&taken("randread-4k"))).unwrap();
        symlink(&elsewhere, &file).unwrap();
        assert!(none(), "a link is not followed");
    }
}
