//! The page cache of the whole host.

use super::attr::{self, AttrError};
use super::root::SysRoot;

const FILE: &str = "sys/vm/drop_caches";

/// Whether this process may drop it, found by opening the file for writing.
///
/// # Errors
/// EACCES or EPERM without root, EROFS in containers.
pub fn may_drop(root: &SysRoot) -> Result<(), AttrError> {
    attr::may_write(&root.proc(FILE))
}

/// Writes all dirty pages of the host to their devices (`sync(2)`), then drops clean pages, dentries and inodes
/// (`Documentation/admin-guide/sysctl/vm.rst`). Every program reads from its devices again. Waits for every device of the
/// host to take its data; in a captured tree nothing is synced.
///
/// # Errors
/// As [`may_drop`].
pub fn drop_all(root: &SysRoot) -> Result<(), AttrError> {
    may_drop(root)?;
    if root.is_live() {
        rustix::fs::sync();
    }
    attr::write(&root.proc(FILE), "3")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_dropped_or_the_file_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let root = SysRoot::captured(dir.path());
        let e = drop_all(&root).unwrap_err();
        assert!(e.errno() == Some(libc::ENOENT) && e.path.ends_with("drop_caches"), "{e}");
        let file = dir.path().join("proc/sys/vm/drop_caches");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "0").unwrap();
        drop_all(&root).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "3");
    }
}
