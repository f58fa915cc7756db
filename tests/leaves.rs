//! Which devices of captured kernels count in a total, by sysfs and by their names alone.

// Functions beside the tests are parts of tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::collections::HashMap;

use blktune::clock::ManualClock;
use blktune::runtime::sampler::Sampler;
use blktune::sys::leaf::is_leaf;
use blktune::sys::name::KernelName;
use blktune::telemetry::sample::Sample;
use blktune::telemetry::total::{Leaves, leaf_by_name, total};
use blktune::telemetry::tracker::RateTracker;
use blktune::units::Nanos;

/// By hand: real drives, the heads of multipath, network devices. Not what is made of them (dm, md, loop), of memory
/// (ram, zram, nullb), of other drivers' devices (mtdblock), nor the hidden paths.
const LEAVES: [(&str, &str); 3] = [
    (
        "linux-6.1-qemu",
        "fd0 mmcblk0 nbd0 nbd1 nvme0n1 nvme0n2 nvme1n1 nvme2n1 pmem0 sda sdb sdc sdd sde sdf sdg sdh sdi sdj sdk sr0 sr1 \
         vda vdb vdc",
    ),
    (
        "linux-6.12-qemu",
        "fd0 mmcblk0 nbd0 nbd1 nvme0n1 nvme0n2 nvme1n1 nvme3n1 pmem0 sda sdb sdc sdd sde sdf sdg sdh sdi sdj sr0 sr1 sr2 \
         vda vdb vdc",
    ),
    ("linux-6.18-loop", "vda"),
];

#[test]
fn leaves_are_what_has_bytes_of_its_own() {
    for (tree, expected) in LEAVES {
        let fixture = support::fixtures::sysroot(tree);
        let entries = std::fs::read_dir(fixture.root.block_dir()).unwrap();
        let names = entries.map(|e| KernelName::new(e.unwrap().file_name().to_str().unwrap()).unwrap());
        let all: Vec<KernelName> = names.collect();
        let found = |by: &dyn Fn(&KernelName) -> bool| {
            let mut names: Vec<String> = all.iter().filter(|n| by(n)).map(KernelName::kernel).collect();
            names.sort();
            names.join(" ")
        };
        assert_eq!(found(&|n| is_leaf(&fixture.root, n).unwrap()), expected, "{tree}: by sysfs");
        assert_eq!(found(&leaf_by_name), expected, "{tree}: by name");
        assert_eq!(is_leaf(&fixture.root, &KernelName::new("sda1").unwrap()), None, "a partition");
    }
}

#[test]
fn a_sampler_learns_what_the_tracker_needs() {
    for (tree, expected) in LEAVES {
        let fixture = support::fixtures::sysroot(tree);
        let clock = ManualClock::default();
        clock.advance(Nanos::SECOND);
        let mut sampler = Sampler::new(&fixture.root);
        let mut tracker = RateTracker::default();
        let sample = sampler.take(&clock).unwrap();
        assert_eq!(sample.boot, Some(Nanos::SECOND));
        for name in sample.rows.iter().map(|(key, _)| &key.name) {
            let file = |f: &str| std::fs::read_to_string(fixture.root.block(name).join(f)).ok();
            let seq = file("diskseq").map(|t| t.trim().parse().unwrap());
            assert_eq!(sample.diskseq.get(name).copied(), seq, "{tree}: {name}");
            let off = file("queue/iostats").is_some_and(|t| t.trim() == "0");
            assert_eq!(sample.iostats_off.contains(name), off, "{tree}: {name}");
        }
        let frame = tracker.next(sample).unwrap();
        assert_eq!(total(&frame, sampler.leaves()).leaves, expected.split_whitespace().count(), "{tree}");
        // Names alone come to the same, partitions told by their place.
        let text = sampler.text().into_owned();
        let read = Sample::parse(Nanos(0), None, &text, HashMap::new());
        let frame = RateTracker::default().next(&read).unwrap();
        assert_eq!(total(&frame, &Leaves::default()).leaves, expected.split_whitespace().count(), "{tree}");
    }
}
