//! Where a record lies, and whether that is on the device it is about.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::RecordError;
use crate::sys::device::{DevNum, Device};
use crate::sys::name::KernelName;
use crate::sys::root::SysRoot;
use crate::sys::stack;

/// Most records of one device in one minute.
const MOST: u32 = 1000;

/// Where records lie below the directory of the program's state.
#[must_use]
pub fn records(state: &Path) -> PathBuf {
    state.join("experiments")
}

/// A place for a new record that is not taken: `20261202-1020-sda`, with a number behind it if need be. `when` is the
/// date and time to the minute, as in `20261202-1020`.
///
/// # Errors
/// None is left, or the directory can not be looked into.
pub fn new_place(state: &Path, when: &str, device: &KernelName) -> Result<PathBuf, RecordError> {
    let records = records(state);
    // A name in sysfs has no slash in it.
    let name = format!("{when}-{}", device.sysfs());
    let numbered = |n: u32| if n == 1 { name.clone() } else { format!("{name}-{n}") };
    for n in 1..=MOST {
        let place = records.join(numbered(n));
        match std::fs::symlink_metadata(&place) {
            Ok(_) => {}
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(place),
            Err(source) => return Err(RecordError::Io { path: place, source }),
        }
    }
    Err(RecordError::NotEmpty(records.join(name)))
}

/// Whether a record in `dir`, which need not be there yet, lies on the device or on anything that shares its disks: then
/// in words, else None. None too where the file system does not say which device it is on.
#[must_use]
pub fn on_device(root: &SysRoot, dir: &Path, device: &Device) -> Option<String> {
    let number = DevNum::of_rdev(dir.ancestors().find_map(|p| {
        let p = if p.as_os_str().is_empty() { Path::new(".") } else { p };
        Some(std::fs::metadata(p).ok()?.dev())
    })?);
    let name = device.name();
    if let Some(whole) = stack::whole_of_number(root, number)
        && stack::whole_stack(root, name).contains(&whole)
    {
        return Some(if whole == *name {
            format!("this record lies on {name}, which is measured")
        } else {
            format!("this record lies on {whole}, which shares disks with {name}, which is measured")
        });
    }
    let file = Path::new(device.backing_file.as_ref()?);
    let same = std::fs::metadata(file).is_ok_and(|m| DevNum::of_rdev(m.dev()) == number);
    same.then(|| {
        format!("this record lies on the same file system as the file behind {name}, which is measured")
    })
}
