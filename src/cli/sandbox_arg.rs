//! `--sandbox` on the command line: made before a command, named where a device was left out, removed after it.

use std::io::{IsTerminal as _, Write as _, stderr};
use std::ops::ControlFlow;

use super::outcome::{CommandResult, Failure};
use super::output;
use crate::runtime::stop::Stop;
use crate::sandbox::{Sandbox, SandboxError};
use crate::units::Bytes;

/// Makes the sandbox, if one is wanted, telling how far its file is written.
///
/// # Errors
/// There is no room, the kernel refuses, or a signal came meanwhile.
pub(super) fn create(size: Option<Bytes>, stop: &Stop) -> Result<Option<Sandbox>, Failure> {
    let Some(size) = size else { return Ok(None) };
    let draws = stderr().is_terminal();
    let sandbox = Sandbox::create(size, None, &mut |done, total| {
        if draws {
            // Progress is a courtesy; a terminal that can not show it changes nothing.
            let _ = write!(stderr(), "\rsandbox: {done} of {total} written ");
        }
        if stop.signal().is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .map_err(|e| match e {
        SandboxError::TooSmall(_) => Failure::Usage(e.to_string()),
        SandboxError::NoRoom { .. } => Failure::Unsafe(e.to_string()),
        SandboxError::Stopped => Failure::Signal(stop.signal().unwrap_or_default()),
        SandboxError::Directory { .. } | SandboxError::Scratch(_) | SandboxError::Loop(_) => {
            Failure::Unexpected(e.to_string())
        }
    })?;
    if draws {
        let _ = write!(stderr(), "\r\x1b[K");
    }
    if let Sandbox::ScratchFile(file) = &sandbox {
        output::say(format_args!(
            "blktune: {}; reads can be tried on a scratch file, and `{}` gives the rest",
            file.reason(),
            with_rights()
        ));
    }
    Ok(Some(sandbox))
}

/// The command line that would have had the rights.
pub(super) fn with_rights() -> String {
    let mut words = vec!["sudo".to_owned()];
    words.extend(std::env::args().map(|a| crate::sys::attr::clean(a.as_bytes())));
    words.join(" ")
}

/// What the sandbox is called where a device or target is expected.
pub(super) fn named(sandbox: &Sandbox) -> String {
    match sandbox {
        Sandbox::Device(device) => device.name().kernel(),
        Sandbox::ScratchFile(file) => file.path().display().to_string(),
    }
}

/// Removes it, saying what could not be removed.
///
/// # Errors
/// The loop device is still in use by something else.
pub(super) fn remove(sandbox: Sandbox) -> CommandResult {
    sandbox.remove().map_err(|e| Failure::Unexpected(e.to_string()))
}
