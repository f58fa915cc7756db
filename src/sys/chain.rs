//! Who finally uses a device, through everything that is stacked on it: `crypt > vg0 > /`.

use super::device::{Device, Usage, UsageKind};
use super::name::KernelName;

/// Deeper stacks end here: the kernel allows few levels, a captured tree any number, even a ring.
const DEEPEST: usize = 8;
/// At most this many holders are looked into, or a tree made for the purpose would take for ever.
const MOST: usize = 32;

/// The chain of users in few words: each holder by its link ([`super::layer::Layer::link`]), then who uses that. Several
/// are parted by commas, equal ones said once. `find` gives the device of a name.
#[must_use]
pub fn words<'a>(users: &[Usage], find: &dyn Fn(&KernelName) -> Option<&'a Device>) -> String {
    ends(users, find, DEEPEST, &mut 0).join(", ")
}

fn ends<'a>(
    users: &[Usage],
    find: &dyn Fn(&KernelName) -> Option<&'a Device>,
    depth: usize,
    seen: &mut usize,
) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for usage in users {
        let holder = (usage.kind == UsageKind::Holder)
            .then(|| KernelName::new(&usage.what))
            .flatten()
            .and_then(|name| find(&name));
        let words = match holder.filter(|_| depth > 0 && *seen < MOST) {
            Some(holder) => {
                *seen += 1;
                through(holder, find, depth - 1, seen)
            }
            // The detail tells what the name does not; for holders the link does.
            None if usage.kind == UsageKind::Holder => vec![usage.what.clone()],
            None => vec![usage.to_string()],
        };
        for w in words {
            if !out.contains(&w) {
                out.push(w);
            }
        }
    }
    out
}

fn through<'a>(
    holder: &'a Device,
    find: &dyn Fn(&KernelName) -> Option<&'a Device>,
    depth: usize,
    seen: &mut usize,
) -> Vec<String> {
    let name = holder.name();
    let link = holder.layer.as_ref().map_or_else(|| name.kernel(), |l| l.link(name));
    let of_partitions = holder.partitions.iter().flat_map(|p| &p.used_by);
    let users: Vec<Usage> = holder.used_by.iter().chain(of_partitions).cloned().collect();
    let further = ends(&users, find, depth, seen);
    if further.is_empty() {
        return vec![link];
    }
    further.into_iter().map(|w| format!("{link} > {w}")).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::sys::layer::Layer;

    fn device(name: &str, layer: Option<Layer>, users: &[(UsageKind, &str)]) -> Device {
        let used_by = users.iter().map(|(kind, what)| Usage::new(*kind, *what)).collect();
        Device { layer, used_by, ..Device::sketch(KernelName::new(name).unwrap()) }
    }

    fn chain(devices: Vec<Device>, users: &[(UsageKind, &str)]) -> String {
        let all: HashMap<KernelName, Device> = devices.into_iter().map(|d| (d.name().clone(), d)).collect();
        let users: Vec<Usage> = users.iter().map(|(kind, what)| Usage::new(*kind, *what)).collect();
        words(&users, &|name| all.get(name))
    }

    fn lvm(lv: &str) -> Layer {
        Layer::Lvm { vg: "vg0".to_owned(), lv: lv.to_owned() }
    }

    #[test]
    fn a_stack_is_followed_to_its_users() {
        use UsageKind::{Holder, Mount, Swap};
        let all = || {
            vec![
                device(
                    "dm-0",
                    Some(Layer::Crypt("luks".to_owned())),
                    &[(Holder, "dm-1"), (Holder, "dm-2"), (Holder, "dm-3")],
                ),
                device("dm-1", Some(lvm("root")), &[(Mount, "/")]),
                device("dm-2", Some(lvm("swap")), &[(Swap, "swap")]),
                device("dm-3", Some(lvm("spare")), &[]),
                device("md0", Some(Layer::Raid("raid1".to_owned())), &[(Mount, "/srv")]),
            ]
        };
        assert_eq!(chain(all(), &[(Mount, "/boot")]), "/boot");
        assert_eq!(chain(all(), &[(Holder, "dm-0")]), "crypt > vg0 > /, crypt > vg0 > swap, crypt > vg0");
        assert_eq!(chain(all(), &[(Holder, "md0"), (Mount, "/x")]), "md0 > /srv, /x");
        assert_eq!(chain(all(), &[(Holder, "dm-77")]), "dm-77", "one that is not known");
    }

    #[test]
    fn a_ring_and_a_thicket_end() {
        use UsageKind::Holder;
        let ring = vec![device("dm-0", None, &[(Holder, "dm-1")]), device("dm-1", None, &[(Holder, "dm-0")])];
        assert!(chain(ring, &[(Holder, "dm-0")]).starts_with("dm-0 > dm-1 > dm-0"));
        let names: Vec<String> = (0..40).map(|i| format!("dm-{i}")).collect();
        let everyone: Vec<(UsageKind, &str)> = names.iter().map(|n| (Holder, n.as_str())).collect();
        let thicket: Vec<Device> = names.iter().map(|n| device(n, None, &everyone)).collect();
        assert!(chain(thicket, &everyone).len() < 100_000);
    }
}
