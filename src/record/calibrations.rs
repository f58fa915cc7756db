//! The last calibration of each device, a small file each in the directory of the program's state.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use super::RecordError;
use super::files::Dir;
use crate::experiment::calibration::Calibration;
use crate::sys::name::KernelName;

/// Longest file that is read. It has a few hundred bytes.
const LONGEST: u64 = 64 * 1024;

fn place(state: &Path) -> PathBuf {
    state.join("calibrations")
}

fn file(device: &KernelName) -> String {
    // A name in sysfs has no slash in it.
    format!("{}.json", device.sysfs())
}

/// Keeps a calibration in place of the one before.
///
/// # Errors
/// The file can not be written, or the directory is not this user's.
pub fn keep(state: &Path, device: &KernelName, calibration: &Calibration) -> Result<(), RecordError> {
    let path = place(state);
    let io = |source| RecordError::Io { path: path.clone(), source };
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&path).map_err(io)?;
    let bytes = serde_json::to_vec(calibration).map_err(|e| io(e.into()))?;
    Dir::ours(&path)?.replace(&file(device), &bytes)
}

/// The last calibration of a device of this name. None if there is none, or none that can be read: it only advises, and a new
/// one is made in minutes. Whether it still holds says [`Calibration::stale`].
#[must_use]
pub fn last(state: &Path, device: &KernelName) -> Option<Calibration> {
    let (bytes, whole) = Dir::open(&place(state)).ok()?.read(&file(device), LONGEST).ok()??;
    let calibration: Calibration = serde_json::from_slice(&bytes).ok().filter(|_| whole)?;
    calibration.makes_sense().then_some(calibration)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn taken() -> Calibration {
        Calibration {
            device: "cciss/c0d0".to_owned(),
            identity: "wwid naa.5".to_owned(),
            kernel: "6.18.4".to_owned(),
            at_s: 5,
            spread: 0.01,
            blocks: 6,
            quiet: true,
        }
    }

    #[test]
    fn the_last_of_each_device_is_found_again() {
        let state = tempfile::tempdir().unwrap();
        let state = state.path().join("blktune");
        let (a, b) = (KernelName::new("cciss!c0d0").unwrap(), KernelName::new("sda").unwrap());
        assert_eq!(last(&state, &a), None);
        keep(&state, &a, &Calibration { at_s: 1, ..taken() }).unwrap();
        keep(&state, &a, &taken()).unwrap();
        assert_eq!((last(&state, &a), last(&state, &b)), (Some(taken()), None));
        let mode = std::fs::metadata(place(&state).join(file(&a))).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn what_is_no_calibration_is_none() {
        let state = tempfile::tempdir().unwrap();
        let device = KernelName::new("sda").unwrap();
        keep(state.path(), &device, &taken()).unwrap();
        let path = place(state.path()).join(file(&device));
        for text in ["", "{}", "null", r#"{"device":"sda","spread":1e999}"#] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(last(state.path(), &device), None, "{text}");
        }
        let wrong = Calibration { spread: -1.0, ..taken() };
        std::fs::write(&path, serde_json::to_vec(&wrong).unwrap()).unwrap();
        assert_eq!(last(state.path(), &device), None);
        std::fs::remove_file(&path).unwrap();
        let elsewhere = state.path().join("elsewhere");
        std::fs::write(&elsewhere, serde_json::to_vec(&taken()).unwrap()).unwrap();
        symlink(&elsewhere, &path).unwrap();
        assert_eq!(last(state.path(), &device), None, "a link is not followed");
    }
}
