//! Attacks that no kernel lets a test make on a real loop device: a tree that says what the test wants, and nodes of
//! real loop devices in it.

use std::os::unix::fs::{FileExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use rustix::fs::{CWD, FileType, makedev, mknodat};
use tempfile::TempDir;

use super::{Arming, DevNum, Guard, Refusal};
use crate::sys::loopdev::{LoopDevice, LoopOptions};
use crate::sys::root::SysRoot;
use crate::sys::scratch::nameless;
use crate::sys::usage::Users;
use crate::sys::{attr, inventory, loopdev};
use crate::workload::preset;
use crate::workload::run::{Observer, run};
use crate::workload::target::{Target, TargetError};

/// What it is called, how it is done and undone, and what the refusal says.
type Attack = (&'static str, fn(&Made), fn(&Made), &'static str);

struct Nobody;
impl Observer for Nobody {}

/// A blank loop device, and a tree in which it is called `sdx`.
struct Made {
    device: LoopDevice,
    tree: TempDir,
    number: DevNum,
}

impl Made {
    fn new(test: &str) -> Option<Self> {
        if loopdev::available().is_err() || !rustix::process::geteuid().is_root() {
            assert!(
                std::env::var_os("BLKTUNE_REQUIRE_PRIVILEGED").is_none_or(|v| v != "1"),
                "{test} needs root"
            );
            eprintln!("not run: {test} needs root and loop devices");
            return None;
        }
        let file = nameless(&std::env::temp_dir()).unwrap();
        file.set_len(8 << 20).unwrap();
        let device = LoopDevice::over(file, LoopOptions::default()).unwrap();
        let number = inventory::identify(&SysRoot::host(), device.name()).unwrap().devnum.unwrap();
        let tree = tempfile::tempdir().unwrap();
        let made = Self { device, tree, number };
        for dir in ["sys/block/sdx/queue", "sys/class/block", "sys/dev/block", "dev", "proc"] {
            std::fs::create_dir_all(made.at(dir)).unwrap();
        }
        let seq = attr::read_u64(&SysRoot::host().block(made.device.name()).join("diskseq"));
        made.put("dev", &number.to_string());
        made.put("size", "16384");
        made.put("ro", "0");
        if let Some(seq) = seq {
            made.put("diskseq", &seq.to_string());
        }
        symlink("../../block/sdx", made.at("sys/class/block/sdx")).unwrap();
        symlink("../../block/sdx", made.at(&format!("sys/dev/block/{number}"))).unwrap();
        made.node("sdx", number);
        Some(made)
    }

    fn at(&self, path: &str) -> PathBuf {
        self.tree.path().join(path)
    }

    fn put(&self, attribute: &str, value: &str) {
        std::fs::write(self.at("sys/block/sdx").join(attribute), format!("{value}\n")).unwrap();
    }

    fn node(&self, name: &str, number: DevNum) -> PathBuf {
        let path = self.at("dev").join(name);
        mknodat(CWD, &path, FileType::BlockDevice, 0o600.into(), makedev(number.major, number.minor))
            .unwrap();
        path
    }

    fn root(&self) -> SysRoot {
        SysRoot::captured(self.tree.path())
    }

    fn arm(&self, path: &Path, name: &str) -> Result<Target, TargetError> {
        let arming = Arming { device: name.to_owned(), destroy: Vec::new() };
        let (fd, guard) = Guard::arm_with(&self.root(), path, &arming, nobody_uses_it)?;
        Target::guarded(&SysRoot::host(), fd, guard)
    }

    fn refuses(&self, path: &Path, name: &str) -> Refusal {
        match self.arm(path, name) {
            Err(TargetError::Refused(r)) => r,
            other => panic!("{other:?}"),
        }
    }

    fn untouched(&self) -> bool {
        let mut all = vec![1; 8 << 20];
        self.device.backing_file().read_exact_at(&mut all, 0).unwrap();
        all.iter().all(|b| *b == 0)
    }
}

/// Writes twenty blocks.
fn write(target: &Target) -> Result<u64, String> {
    let mut job = preset::find("randwrite-4k").unwrap().jobs().remove(0);
    for key in ["ramp=0s", "runtime=10s", "number_ios=20"] {
        job.set(key).unwrap();
    }
    let done = run(std::slice::from_ref(&job), target, &AtomicBool::new(false), &mut Nobody);
    done.map(|o| o.total.write.ios).map_err(|e| e.to_string())
}

fn nobody_uses_it(_: &SysRoot) -> Users {
    Users::of_nobody()
}

#[test]
fn what_changes_between_arming_and_start_is_noticed_before_the_first_write() {
    let Some(made) = Made::new("what_changes_between_arming_and_start") else { return };
    let node = made.at("dev/sdx");
    let original = std::fs::read_to_string(made.at("sys/block/sdx/diskseq")).unwrap();
    let attacks: [Attack; 6] = [
        ("replaced by another", |m| m.put("diskseq", "999999"), |_| {}, "another device has its name"),
        (
            "another number",
            |m| m.put("dev", "8:240"),
            |m| m.put("dev", &m.number.to_string()),
            "another device",
        ),
        (
            "gone",
            |m| std::fs::rename(m.at("sys/block/sdx/size"), m.at("size")).unwrap(),
            |m| std::fs::rename(m.at("size"), m.at("sys/block/sdx/size")).unwrap(),
            "gone",
        ),
        ("read-only", |m| m.put("ro", "1"), |m| m.put("ro", "0"), "read-only"),
        (
            "node replaced by a link",
            |m| {
                std::fs::rename(m.at("dev/sdx"), m.at("dev/other")).unwrap();
                symlink(m.at("dev/other"), m.at("dev/sdx")).unwrap();
            },
            |m| std::fs::rename(m.at("dev/other"), m.at("dev/sdx")).unwrap(),
            "no block device any more",
        ),
        (
            "node of another number",
            |m| {
                std::fs::rename(m.at("dev/sdx"), m.at("dev/other")).unwrap();
                m.node("sdx", DevNum { major: 7, minor: 1_000_000 });
            },
            |m| std::fs::rename(m.at("dev/other"), m.at("dev/sdx")).unwrap(),
            "its number is 7:1000000",
        ),
    ];
    for (attack, does, undoes, words) in attacks {
        let target = made.arm(&node, "sdx").unwrap();
        does(&made);
        let e = write(&target).unwrap_err();
        assert!(e.contains(words) && e.contains("nothing was written"), "{attack}: {e}");
        assert!(made.untouched(), "{attack}: bytes were written");
        undoes(&made);
        made.put("diskseq", original.trim());
    }
    // A file system that came meanwhile.
    let target = made.arm(&node, "sdx").unwrap();
    made.device.backing_file().write_all_at(b"XFSB", 0).unwrap();
    let e = write(&target).unwrap_err();
    assert!(e.contains("xfs is on it now"), "{e}");
    made.device.backing_file().write_all_at(&[0; 4], 0).unwrap();
    assert!(made.untouched(), "bytes were written");
    // And the same without an attack is written.
    assert_eq!(write(&target), Ok(20));
    assert!(!made.untouched());
}

#[test]
fn node_and_sysfs_have_to_agree() {
    let Some(made) = Made::new("node_and_sysfs_have_to_agree") else { return };
    let node = made.at("dev/sdx");
    // The name of one device, the number of another.
    std::fs::create_dir_all(made.at("sys/block/sdy")).unwrap();
    symlink("../../block/sdy", made.at("sys/class/block/sdy")).unwrap();
    let sdy = made.node("sdy", made.number);
    for name in ["sdx", "sdy"] {
        assert!(matches!(made.refuses(&sdy, name), Refusal::Disagree(..)), "{name}");
    }
    // A number that nobody has.
    let nobody = made.node("sdz", DevNum { major: 240, minor: 7 });
    assert!(matches!(made.refuses(&nobody, "sdz"), Refusal::Disagree(..)));
    // sysfs says another sequence number than the device that the node opens.
    let original = std::fs::read_to_string(made.at("sys/block/sdx/diskseq")).unwrap();
    made.put("diskseq", "999999");
    assert!(matches!(made.refuses(&node, "sdx"), Refusal::Changed(..)));
    made.put("diskseq", original.trim());
    // Outside of /dev.
    let outside = made.at("sdx");
    mknodat(
        CWD,
        &outside,
        FileType::BlockDevice,
        0o600.into(),
        makedev(made.number.major, made.number.minor),
    )
    .unwrap();
    assert!(matches!(made.refuses(&outside, "sdx"), Refusal::Elsewhere(_)));
    assert!(matches!(made.refuses(&node, "sdy"), Refusal::OtherName { .. }));
    // Through a link it is found, and said.
    let link = made.at("by-id");
    symlink(&node, &link).unwrap();
    let target = made.arm(&link, "sdx").unwrap();
    let sentence = target.guard().unwrap().sentence();
    assert!(
        sentence.contains("dev/sdx (") && sentence.contains("by-id") && sentence.contains("blank"),
        "{sentence}"
    );
    assert!(made.untouched());
}

#[test]
fn partitions_and_hidden_paths_are_not_written_to() {
    let Some(made) = Made::new("partitions_and_hidden_paths_are_not_written_to") else { return };
    std::fs::create_dir_all(made.at("sys/block/sdx/sdx1")).unwrap();
    std::fs::write(made.at("sys/block/sdx/sdx1/partition"), "1\n").unwrap();
    symlink("../../block/sdx/sdx1", made.at("sys/dev/block/240:1")).unwrap();
    let part = made.node("sdx1", DevNum { major: 240, minor: 1 });
    for name in ["sdx", "sdx1"] {
        let r = made.refuses(&part, name);
        assert!(
            matches!(r, Refusal::Partition(..)) && r.to_string().contains("sdx1 is a partition of sdx"),
            "{r}"
        );
    }
    // The whole device has a partition now, and no table: that counts, too.
    let r = made.refuses(&made.at("dev/sdx"), "sdx").to_string();
    assert!(r.contains("holds partitions") && r.contains("--destroy partitions"), "{r}");
    std::fs::create_dir_all(made.at("sys/block/nvme0c1n1")).unwrap();
    std::fs::write(made.at("sys/block/nvme0c1n1/hidden"), "1\n").unwrap();
    let arming = Arming { device: "nvme0c1n1".to_owned(), destroy: Vec::new() };
    for text in ["nvme0c1n1", "/dev/nvme0c1n1"] {
        let e = Target::armed(&made.root(), Path::new(text), &arming).unwrap_err();
        assert!(matches!(e, TargetError::Refused(Refusal::Hidden(..))), "{text}: {e}");
    }
    assert!(made.untouched());
}

#[test]
fn what_can_not_be_looked_at_counts_as_use() {
    let Some(made) = Made::new("what_can_not_be_looked_at_counts_as_use") else { return };
    let arming = Arming { device: "sdx".to_owned(), destroy: Vec::new() };
    let arm = |users| Guard::arm_with(&made.root(), &made.at("dev/sdx"), &arming, users);
    // Of a captured tree, and in a container, not all processes are known.
    let r = arm(Users::read).unwrap_err().to_string();
    assert!(r.contains("not all processes of the host can be seen"), "{r}");
    let r = arm(|_| Users::of_nobody().beside(&[(1, "init"), (77, "vault")])).unwrap_err().to_string();
    assert!(r.contains("process 77 (vault) can not be looked into"), "{r}");
    // The first process alone is let pass, and told.
    let (_fd, guard) = arm(|_| Users::of_nobody().beside(&[(1, "init")])).unwrap();
    assert!(guard.sentence().contains("process 1 (init) can not be looked into"), "{}", guard.sentence());
    assert!(made.untouched());
}
