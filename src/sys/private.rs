//! Whether a file or directory is this user's alone: what is read from it may later be acted upon.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// Whether it belongs to this user and others may not write to it; else what is wrong.
///
/// # Errors
/// It belongs to another user, or others may write to it.
pub fn owned_by_us(meta: &Metadata) -> Result<(), &'static str> {
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return Err("belongs to another user");
    }
    if meta.mode() & 0o022 != 0 {
        return Err("others may write to it");
    }
    Ok(())
}
