//! What an md array does besides its users' I/O.

use serde::Serialize;

use super::attr;
use super::name::KernelName;
use super::root::SysRoot;
use super::stack;

/// An array that resyncs, recovers, checks, repairs or reshapes (`Documentation/admin-guide/md.rst`).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArrayWork {
    /// The array.
    pub name: KernelName,
    /// `md/sync_action`: `resync`, `recover`, `check`, `repair`, `reshape`; `idle` and `frozen` for none.
    pub action: String,
    /// How far it is, percent (`md/sync_completed`); None while it waits.
    pub done_pct: Option<f64>,
}

impl ArrayWork {
    /// Whether its members are read and written on its own account.
    #[must_use]
    pub fn works(&self) -> bool {
        !matches!(self.action.as_str(), "idle" | "frozen" | "")
    }
}

/// The arrays among a device, what it is built on and what is built on it.
#[must_use]
pub fn around(root: &SysRoot, whole: &KernelName) -> Vec<ArrayWork> {
    let stack = stack::whole_stack(root, whole);
    stack
        .into_iter()
        .filter_map(|name| {
            let dir = root.block(&name).join("md");
            let action = attr::read_opt(&dir.join("sync_action"))?;
            let done_pct = attr::read_opt(&dir.join("sync_completed")).and_then(|t| done(&t));
            Some(ArrayWork { name, action, done_pct })
        })
        .collect()
}

/// `1234 / 5678` in sectors; `none` or `delayed` without work.
#[allow(clippy::cast_precision_loss)] // a share
fn done(text: &str) -> Option<f64> {
    let (done, all) = text.split_once('/')?;
    let (done, all): (u64, u64) = (done.trim().parse().ok()?, all.trim().parse().ok()?);
    (all > 0).then(|| done as f64 / all as f64 * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resync_has_its_share_and_an_idle_array_does_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let md = dir.path().join("sys/block/md0/md");
        std::fs::create_dir_all(&md).unwrap();
        let root = SysRoot::captured(dir.path());
        let now = |action: &str, completed: &str| {
            std::fs::write(md.join("sync_action"), action).unwrap();
            std::fs::write(md.join("sync_completed"), completed).unwrap();
            around(&root, &KernelName::new("md0").unwrap()).remove(0)
        };
        let resync = now("resync\n", "250 / 1000\n");
        assert!(resync.works() && resync.done_pct == Some(25.0), "{resync:?}");
        let idle = now("idle\n", "none\n");
        assert!(!idle.works() && idle.done_pct.is_none(), "{idle:?}");
        assert_eq!(now("check\n", "5 / 0\n").done_pct, None);
        assert!(around(&root, &KernelName::new("sda").unwrap()).is_empty());
    }
}
