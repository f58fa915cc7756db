//! Memory, and how much of it may hold data that was written and is not on a device yet.

use std::collections::HashMap;

use serde::Serialize;

use super::attr;
use super::root::SysRoot;
use crate::units::{Bytes, Kib};

/// When the kernel begins to write back what programs wrote, and when it makes them wait
/// (`Documentation/admin-guide/sysctl/vm.rst`). Of each pair the one that is not 0 rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DirtyLimits {
    /// `vm.dirty_ratio`: writers wait above this share of the memory that is to be had, percent.
    pub ratio_pct: Option<u64>,
    /// `vm.dirty_bytes`: the same as an amount.
    pub bytes: Option<Bytes>,
    /// `vm.dirty_background_ratio`: the kernel begins to write back above this share, percent.
    pub background_ratio_pct: Option<u64>,
    /// `vm.dirty_background_bytes`: the same as an amount.
    pub background_bytes: Option<Bytes>,
}

impl DirtyLimits {
    /// Reads the four.
    #[must_use]
    pub fn read(root: &SysRoot) -> Self {
        let bytes = |file| attr::read_u64(&root.proc(file)).map(Bytes);
        Self {
            ratio_pct: attr::read_u64(&root.proc("sys/vm/dirty_ratio")),
            bytes: bytes("sys/vm/dirty_bytes"),
            background_ratio_pct: attr::read_u64(&root.proc("sys/vm/dirty_background_ratio")),
            background_bytes: bytes("sys/vm/dirty_background_bytes"),
        }
    }
}

/// Sizes from `/proc/meminfo`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// All of it.
    pub total_bytes: Option<Bytes>,
    /// Swap space.
    pub swap_total_bytes: Option<Bytes>,
    /// Of that, what is used.
    pub swap_used_bytes: Option<Bytes>,
}

impl Memory {
    /// Reads them.
    #[must_use]
    pub fn read(root: &SysRoot) -> Self {
        std::fs::read_to_string(root.proc("meminfo")).map_or_else(|_| Self::default(), |t| Self::parse(&t))
    }

    fn parse(text: &str) -> Self {
        let sizes = sizes(text);
        let of = |name| sizes.get(name).copied();
        Self {
            total_bytes: of("MemTotal"),
            swap_total_bytes: of("SwapTotal"),
            swap_used_bytes: of("SwapTotal")
                .zip(of("SwapFree"))
                .map(|(all, free)| Bytes(all.0.saturating_sub(free.0))),
        }
    }
}

/// What was written by programs and is on no device yet, of the whole host (`/proc/meminfo`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unwritten {
    /// Waits to be written back.
    pub dirty: Bytes,
    /// Is being written back.
    pub under_writeback: Bytes,
}

impl Unwritten {
    /// Reads both; what can not be read is taken for nothing.
    #[must_use]
    pub fn read(root: &SysRoot) -> Self {
        let text = std::fs::read_to_string(root.proc("meminfo")).unwrap_or_default();
        let sizes = sizes(&text);
        let of = |name| sizes.get(name).copied().unwrap_or_default();
        Self { dirty: of("Dirty"), under_writeback: of("Writeback") }
    }

    /// Together.
    #[must_use]
    pub const fn all(&self) -> Bytes {
        Bytes(self.dirty.0.saturating_add(self.under_writeback.0))
    }
}

fn sizes(text: &str) -> HashMap<&str, Bytes> {
    text.lines()
        .filter_map(|line| {
            let (name, rest) = line.split_once(':')?;
            let kib = rest.trim().strip_suffix(" kB")?.trim().parse().ok()?;
            Some((name, Kib(kib).sectors().bytes()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_not_there_is_unknown() {
        let dir = tempfile::tempdir().unwrap();
        let root = SysRoot::captured(dir.path());
        assert_eq!((DirtyLimits::read(&root), Memory::read(&root)), Default::default());
        std::fs::create_dir_all(dir.path().join("proc/sys/vm")).unwrap();
        let put = |name: &str, text: &str| std::fs::write(dir.path().join("proc").join(name), text).unwrap();
        put("sys/vm/dirty_ratio", "20\n");
        put("sys/vm/dirty_bytes", "0\n");
        put("sys/vm/dirty_background_bytes", "1048576\n");
        put(
            "meminfo",
            "MemTotal:        8123456 kB\nHugePages_Total:       0\nSwapTotal:  2048 kB\nSwapFree: 1024 kB\nDirty: 12 kB\nWriteback: 4 kB\nWritebackTmp: 9 kB\n",
        );
        let limits = DirtyLimits::read(&root);
        assert_eq!((limits.ratio_pct, limits.bytes), (Some(20), Some(Bytes(0))));
        assert_eq!((limits.background_ratio_pct, limits.background_bytes), (None, Some(Bytes(1 << 20))));
        let memory = Memory::read(&root);
        assert_eq!(memory.total_bytes, Some(Bytes(8_123_456 * 1024)));
        assert_eq!(memory.swap_used_bytes, Some(Bytes(1 << 20)));
        assert_eq!(Unwritten::read(&root).all(), Bytes(16 << 10));
    }

    proptest! {
        #[test]
        fn any_text_is_survived(s in "([A-Za-z]{0,10}:? *[0-9-]{0,25}( kB)?\n){0,6}") {
            let _ = Memory::parse(&s);
        }
    }
}
