//! Why a device is not written to: what stands in the way, and what to do. Each says that nothing was written.

use crate::sys::device::DevNum;
use crate::sys::name::KernelName;

/// Why a device is not written to.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// Nothing on the command line allows it.
    #[error(
        "{job} would overwrite {node}, the whole of it: nothing was written; if all that is on it may be lost, run it again with --write-device {name}; to keep it, give a directory, where a scratch file is made and removed"
    )]
    NotArmed {
        /// The job.
        job: String,
        /// The node.
        node: String,
        /// The device's kernel name.
        name: KernelName,
    },
    /// A file that was there before.
    #[error(
        "{0} would overwrite {1}, a file that was there before: nothing was written; give a directory, where a scratch file is made and removed"
    )]
    ExistingFile(String, String),
    /// A file that is not there.
    #[error(
        "{0} writes, and {1} does not exist: it was not created; give a directory, where a scratch file is made and removed"
    )]
    NoFile(String, String),
    /// `--write-device` beside a target that is no device.
    #[error(
        "{0} is no block device, and --write-device {1} names one: nothing was written; give the device as the target, or leave --write-device out"
    )]
    NoDevice(String, String),
    /// The names differ.
    #[error(
        "{node} is {name}, and --write-device names {asked}: nothing was written; make sure which device is meant, and name it in both places"
    )]
    OtherName {
        /// What was typed.
        asked: String,
        /// The target's node.
        node: String,
        /// Its kernel name.
        name: KernelName,
    },
    /// A partition.
    #[error(
        "{0} is a partition of {1}, and only whole devices are written to: nothing was written; make a file system on it and give its mount point, or take another device"
    )]
    Partition(KernelName, KernelName),
    /// A path of an NVMe multipath head.
    #[error("{0} is a path of a multipath device: nothing was written; give the head ({1})")]
    Hidden(KernelName, KernelName),
    /// A node outside of `/dev`.
    #[error(
        "{0} does not lie below /dev: nothing was written; give the device by its kernel name or its node there"
    )]
    Elsewhere(String),
    /// Node and sysfs say different things.
    #[error(
        "{0} has the number {1}, and sysfs knows another device, or none, by that name: nothing was written; the node is not the kernel's, give the device by its kernel name"
    )]
    Disagree(String, DevNum),
    /// The device refuses writes.
    #[error(
        "{0} is read-only: nothing was written; if that is not its own switch, `blockdev --setrw` lifts it"
    )]
    ReadOnly(String),
    /// Something uses it.
    #[error("{name} is in use, {}: nothing was written; end that use first, or take another device", uses.join(", "))]
    InUse {
        /// The device.
        name: KernelName,
        /// By what, in words.
        uses: Vec<String>,
    },
    /// Not everything could be looked at.
    #[error(
        "whether {name} is in use can not be told, {}: nothing was written; run as root, and not in a container",
        unseen(who)
    )]
    OutOfReach {
        /// The device.
        name: KernelName,
        /// Which processes; empty if not even all can be listed.
        who: Vec<String>,
    },
    /// The kernel has it in exclusive use.
    #[error(
        "{0} is in exclusive use (mounted, swap, RAID or device mapper, perhaps in another mount namespace): nothing was written; end that use first, or take another device"
    )]
    Exclusive(String),
    /// Another program locked the node.
    #[error("{0} is locked by another program: nothing was written; wait until it is done with it")]
    Locked(String),
    /// Something known lies on it.
    #[error("{}", signature(node, name, words, partitions))]
    Signature {
        /// The node.
        node: String,
        /// The device.
        name: KernelName,
        /// What was found.
        words: Vec<&'static str>,
        /// Its partitions.
        partitions: Vec<KernelName>,
    },
    /// `--destroy` names what is not there.
    #[error(
        "--destroy names {asked}, and {node} holds {}: nothing was written; make sure that it is the device that is meant",
        if found.is_empty() { "nothing of the kind".to_owned() } else { found.join(", ") }
    )]
    NotThere {
        /// The node.
        node: String,
        /// The word that was typed.
        asked: String,
        /// What was found.
        found: Vec<&'static str>,
    },
    /// It is not as it was when it was armed.
    #[error("{0} has changed since it was armed, {1}: nothing was written; look at it and start again")]
    Changed(String, String),
    /// It can not be opened.
    #[error("{0}: {1}: nothing was written; give a device that is there, as root")]
    Open(String, std::io::Error),
    /// It can not be looked at.
    #[error(
        "{0} can not be looked at: {1}: nothing was written; what can not be read is not written to either"
    )]
    Unreadable(String, std::io::Error),
}

fn unseen(who: &[String]) -> String {
    match who {
        [] => "not all processes of the host can be seen".to_owned(),
        [one] => format!("{one} can not be looked into"),
        [first, rest @ ..] => format!("{first} and {} others can not be looked into", rest.len()),
    }
}

fn signature(node: &str, name: &KernelName, words: &[&str], partitions: &[KernelName]) -> String {
    let parts = match partitions {
        [] => String::new(),
        [one] => format!(", with the partition {one}"),
        [first, .., last] => format!(", with {} partitions, {first} to {last}", partitions.len()),
    };
    format!(
        "{node} holds {}{parts}: nothing was written; if that may be lost for good, run it again with --write-device {name} --destroy {}",
        words.join(" and "),
        words.join(",")
    )
}
