//! What a file system writes of its own.

use rustix::fd::AsFd;
use rustix::fs::fstatfs;

use crate::units::Bytes;

/// ext2, ext3 and ext4 (`include/uapi/linux/magic.h`).
const EXT: u64 = 0xEF53;
/// Blocks of a commit in ext4's journal for a file that is only overwritten: descriptor, the inode's, one more, and the end.
const EXT_BLOCKS: u64 = 4;
/// The same of any other file system: XFS rounds what it logs up to the stripe of its log, 32 KiB as a rule on an array,
/// f2fs writes nodes.
const ANY: Bytes = Bytes(64 << 10);

/// The most that one sync of a file that is only overwritten makes its file system write, besides the file's data. Several
/// syncs may share one.
#[must_use]
pub fn per_sync(file: impl AsFd) -> Bytes {
    let Ok(s) = fstatfs(file) else { return ANY };
    // Both fields are signed on some architectures, and magic numbers are 32 bits wide.
    let magic = u64::try_from(s.f_type & 0xffff_ffff).unwrap_or_default();
    match u64::try_from(s.f_bsize) {
        Ok(block) if magic == EXT => Bytes(block.saturating_mul(EXT_BLOCKS)),
        _ => ANY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sync_costs_some_blocks_and_no_more() {
        let here = std::fs::File::open(std::env::temp_dir()).unwrap();
        assert!((4096..=256 << 10).contains(&per_sync(&here).0));
        // procfs: of no journal that is known.
        assert_eq!(per_sync(std::fs::File::open("/proc/self/stat").unwrap()), ANY);
    }
}
