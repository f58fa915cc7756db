//! Calibrations: what the last one says before an experiment, and what one leaves at its end.

use std::path::PathBuf;

use super::{Ended, Prepared, RecordAt};
use crate::clock::{Clock, SystemClock};
use crate::config::view::state_dir;
use crate::experiment::calibration::{Calibration, GOOD_FOR_DAYS, Here, Said, identity};
use crate::experiment::event::Ending;
use crate::record::calibrations;
use crate::record::manifest::boot_id;
use crate::sys::attr::clean;
use crate::sys::inventory;
use crate::sys::queue::QueueState;
use crate::sys::root::SysRoot;
use crate::sys::usage::Users;

/// What the last calibration of this device and workload says of the experiment. None without one, and of a calibration: it
/// is made anew, whatever came out before.
#[must_use]
pub fn calibrated(root: &SysRoot, prepared: &Prepared) -> Option<Said> {
    let design = &prepared.designed.design;
    if design.calibration {
        return None;
    }
    let here = here(root, prepared, &prepared.state)?;
    Some(calibrations::last(&state(prepared)?, design, &here)?.says(design, &here))
}

/// Keeps what a calibration found. Says what that means for later experiments, or why it is not kept; None of anything else.
pub(super) fn keep(root: &SysRoot, prepared: &Prepared, found: &QueueState, ended: &Ended) -> Option<String> {
    let design = &prepared.designed.design;
    if !design.calibration || !matches!(ended.ending, Ending::Decided | Ending::Finished) {
        return None;
    }
    let made = Calibration::of(design, &here(root, prepared, found)?, &ended.analysis)?;
    let Some(state) = state(prepared) else {
        return Some("this calibration is not kept: there is no place for it (HOME is not set)".to_owned());
    };
    Some(match calibrations::keep(&state, &made) {
        Ok(()) => format!(
            "kept for {GOOD_FOR_DAYS} days: experiments with this workload on {} will say how small a difference they can find",
            made.device
        ),
        Err(e) => format!("this calibration is not kept: {e}"),
    })
}

/// The device and the host as they are now. None if the device is gone.
fn here<'a>(root: &SysRoot, prepared: &Prepared, found: &'a QueueState) -> Option<Here<'a>> {
    // Who uses the device is of no matter here.
    let device = inventory::read(root, &prepared.device.name, &Users::default())?;
    Some(Here {
        device: device.name().kernel(),
        identity: identity(&device.id, device.size, boot_id(root).as_deref()),
        kernel: clean(rustix::system::uname().release().to_bytes()),
        now_s: SystemClock.wall().0 / 1_000_000_000,
        found,
    })
}

/// The directory of the program's state.
fn state(prepared: &Prepared) -> Option<PathBuf> {
    match &prepared.record {
        RecordAt::New(state) => state.clone(),
        RecordAt::Named(_) | RecordAt::Resumed(_) => {
            state_dir(|name| std::env::var_os(name), rustix::process::geteuid().is_root())
        }
    }
}
