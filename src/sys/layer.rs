//! What a stacked device does with what it is built on.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::attr;
use super::name::KernelName;

/// The work of a stacked device, told by the prefix of device mapper's uuid (which lvm2, cryptsetup, multipath-tools and
/// kpartx set), by `md/` or by `bcache/`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// A logical volume of LVM.
    Lvm {
        /// Volume group.
        vg: String,
        /// Logical volume.
        lv: String,
    },
    /// Encryption (LUKS, plain, `VeraCrypt`); device mapper's name.
    Crypt(String),
    /// Device mapper's multipath; its name.
    Multipath(String),
    /// A partition of a device-mapper device, by kpartx; its name.
    PartitionMap(String),
    /// Any other target of device mapper; its name.
    Mapped(String),
    /// Software RAID; its level (`raid1`), empty while it has none.
    Raid(String),
    /// A cache in front of a backing device.
    Bcache,
}

impl Layer {
    /// Of the device with this directory in `/sys/block`; None if it is not stacked.
    #[must_use]
    pub fn of(name: &KernelName, block: &Path) -> Option<Self> {
        if let Some(dm) = attr::read_opt(&block.join("dm/name")) {
            let uuid = attr::read_opt(&block.join("dm/uuid")).unwrap_or_default();
            return Some(match uuid.split('-').next().unwrap_or_default() {
                "LVM" => {
                    let (vg, lv) = volume(&dm);
                    Layer::Lvm { vg, lv }
                }
                "CRYPT" => Layer::Crypt(dm),
                "mpath" => Layer::Multipath(dm),
                t if t.starts_with("part") => Layer::PartitionMap(dm),
                _ => Layer::Mapped(dm),
            });
        }
        if block.join("md").is_dir() {
            return Some(Layer::Raid(attr::read_opt(&block.join("md/level")).unwrap_or_default()));
        }
        let number = name.sysfs().strip_prefix("bcache")?;
        (!number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())).then_some(Layer::Bcache)
    }

    /// What a device that it sits on is to it, in words: `crypt home`, `LVM vg0/root`, `raid1 member`.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Layer::Lvm { vg, lv } => format!("LVM {vg}/{lv}"),
            Layer::Crypt(dm) => format!("crypt {dm}"),
            Layer::Multipath(dm) => format!("multipath {dm}"),
            Layer::PartitionMap(dm) => format!("partition map {dm}"),
            Layer::Mapped(dm) => format!("device mapper {dm}"),
            Layer::Raid(level) if level.is_empty() => "RAID member".to_owned(),
            Layer::Raid(level) => format!("{level} member"),
            Layer::Bcache => "bcache".to_owned(),
        }
    }

    /// Its link in a chain of users: the sort where that says enough (`crypt`), else what people call it (`vg0`, `md0`).
    #[must_use]
    pub fn link(&self, name: &KernelName) -> String {
        match self {
            Layer::Lvm { vg, .. } => vg.clone(),
            Layer::Crypt(_) => "crypt".to_owned(),
            Layer::Multipath(dm) | Layer::PartitionMap(dm) | Layer::Mapped(dm) => dm.clone(),
            Layer::Raid(_) | Layer::Bcache => name.kernel(),
        }
    }

    /// As the evidence for what a device is.
    #[must_use]
    pub(super) fn evidence(&self, built_on: &[KernelName]) -> String {
        match self {
            Layer::Lvm { .. } => "device mapper, LVM".to_owned(),
            Layer::Crypt(_) => "device mapper, crypt".to_owned(),
            Layer::Multipath(_) => "device mapper, multipath".to_owned(),
            Layer::PartitionMap(_) => "device mapper, partition map".to_owned(),
            Layer::Mapped(_) => "device mapper".to_owned(),
            Layer::Raid(level) => format!("md {level}").trim_end().to_owned(),
            Layer::Bcache if built_on.is_empty() => "bcache".to_owned(),
            Layer::Bcache => {
                let names: Vec<String> = built_on.iter().map(KernelName::kernel).collect();
                format!("bcache over {}", names.join(", "))
            }
        }
    }
}

/// `vg--lab-lv--root` to `vg-lab` and `lv-root`: LVM parts the names by one hyphen and doubles those within (lvm(8)). A
/// part behind a further single hyphen (`-real`, `-cow`) belongs to the volume.
fn volume(dm: &str) -> (String, String) {
    let bytes = dm.as_bytes();
    let mut i = 0;
    while i < bytes.len() {
        match (bytes[i], bytes.get(i + 1)) {
            (b'-', Some(b'-')) => i += 2,
            (b'-', _) => return (dm[..i].replace("--", "-"), dm[i + 1..].replace("--", "-")),
            _ => i += 1,
        }
    }
    (dm.replace("--", "-"), String::new())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_of_volumes_come_back() {
        let two = |s| {
            let (vg, lv) = volume(s);
            format!("{vg}/{lv}")
        };
        assert_eq!(two("vg--lab-lv--root"), "vg-lab/lv-root");
        assert_eq!(two("vg0-root"), "vg0/root");
        assert_eq!(two("vg0-thin_tdata-real"), "vg0/thin_tdata-real");
        assert_eq!(two("odd"), "odd/");
    }

    proptest! {
        #[test]
        fn any_group_and_volume_come_back(vg in "[a-z]([a-z-]{0,6}[a-z])?", lv in "[a-z]([a-z-]{0,6}[a-z])?") {
            let dm = format!("{}-{}", vg.replace('-', "--"), lv.replace('-', "--"));
            prop_assert_eq!(volume(&dm), (vg, lv));
        }

        #[test]
        fn any_name_is_survived(s in ".*") {
            let _ = volume(&s);
        }
    }
}
