//! Without a scheduler a device takes as many I/Os at once as `nr_requests` reads, whatever way led there. Sysfs does not
//! show where it does not: the fake queue knows it, and of real ones debugfs.

use std::process::Command;

use blktune::sys::root::SysRoot;
use blktune::tuning::control::SysfsQueue;
use blktune::tuning::held::hold;
use blktune::tuning::held_queue::HeldQueue;
use blktune::tuning::keep::apply_and_keep;
use blktune::tuning::snapshot;
use blktune::tuning::undo::{latest, undo};
use proptest::prelude::*;

use super::bench::Bench;
use super::fake::Fault;
use super::support::loopdev::{LoopDevice, loop_device};
use super::{carry_out, set};

/// What moves the tags, or seems to.
const SETS: [&str; 8] = [
    "nr_requests=4",
    "nr_requests=64",
    "nr_requests=128",
    "scheduler=none",
    "scheduler=kyber",
    "scheduler=bfq nr_requests=32",
    "scheduler=none nr_requests=16",
    "scheduler=none nr_requests=128",
];

#[derive(Clone, Copy, Debug)]
enum Way {
    Keep(usize),
    Hold(usize),
    Undo,
    ToBoot,
    /// A queue held for an experiment: changes in safe order, and echoes.
    HeldQueue([(usize, bool); 3]),
}

fn any_way() -> impl Strategy<Value = Way> {
    let one = || 0..SETS.len();
    prop_oneof![
        3 => one().prop_map(Way::Keep),
        1 => one().prop_map(Way::Hold),
        2 => Just(Way::Undo),
        1 => Just(Way::ToBoot),
        2 => proptest::array::uniform3((one(), any::<bool>())).prop_map(Way::HeldQueue),
    ]
}

fn go(b: &Bench, way: Way) {
    let journal = b.journal();
    match way {
        Way::Keep(i) => drop(apply_and_keep(&journal, &b.queue, &b.id, &set(SETS[i]), 1)),
        Way::Hold(i) => drop(hold(&journal, &b.queue, &b.id, &set(SETS[i]), 1).release()),
        Way::Undo => {
            let entries = journal.entries().unwrap_or_default();
            if let Some(entry) = latest(&entries, |_| true) {
                undo(&journal, &b.queue, entry);
            }
        }
        Way::ToBoot => {
            if let Some(boot) = snapshot::load(&journal, &b.id).unwrap_or_default() {
                snapshot::back_to(&journal, &b.queue, &boot, 1);
            }
        }
        Way::HeldQueue(steps) => {
            let mut held = HeldQueue::begin(&journal, &b.queue, &b.id, 1);
            for (i, bare) in steps {
                let _ = if bare { held.write_bare(&set(SETS[i])) } else { held.change(&set(SETS[i])) };
            }
            held.put_back();
        }
    }
}

proptest! {
    #[test]
    fn whatever_is_changed_and_put_back_the_device_takes_what_it_says(
        ways in proptest::collection::vec(any_way(), 1..8),
    ) {
        let b = Bench::new();
        for (n, way) in ways.iter().enumerate() {
            go(&b, *way);
            prop_assert!(b.queue.is_true(), "after {:?}", &ways[..=n]);
        }
    }

    #[test]
    fn so_it_does_after_a_refusal_at_any_write(
        history in proptest::collection::vec(0..SETS.len(), 1..4),
        last in 0..SETS.len(),
        k in 0usize..6,
        half in any::<bool>(),
    ) {
        let q = super::fake::FakeQueue::new();
        for i in &history {
            carry_out(&q, SETS[*i]);
        }
        let done = q.writes().len();
        q.fail(k, if half { Fault::HalfDone(libc::EIO) } else { Fault::Refuse(libc::EINVAL) });
        let a = carry_out(&q, SETS[last]);
        // The first write of a renewal may be the one that is refused: then there was nothing to be done.
        let renewal = q.writes().get(done + k).is_some_and(|(n, _)| n == "nr_requests") && !half;
        prop_assert!(q.is_true() || renewal, "{history:?} then {}, write {k}: {:?}", SETS[last], a.report);
    }
}

#[test]
fn an_undo_makes_it_true_where_an_echo_has_come_between() {
    for taken in ["nr_requests=4", "scheduler=none nr_requests=4"] {
        let b = Bench::new();
        go(&b, Way::Keep(SETS.iter().position(|s| *s == "scheduler=kyber").unwrap()));
        go(&b, Way::Keep(SETS.iter().position(|s| *s == "scheduler=none").unwrap()));
        apply_and_keep(&b.journal(), &b.queue, &b.id, &set(taken), 1);
        b.queue.foreign("scheduler", "kyber");
        b.queue.foreign("scheduler", "none");
        assert!(!b.queue.is_true() && b.queue.get("nr_requests") == "128", "as the kernel has it");
        go(&b, Way::Undo);
        assert!(b.queue.is_true(), "{taken}");
    }
}

#[test]
fn echoes_are_put_back_with_the_tags_also_where_the_journal_is_out_of_reach() {
    let b = Bench::new();
    let mut held = HeldQueue::begin(&b.journal(), &b.queue, &b.id, 1);
    for echo in ["nr_requests=4", "scheduler=kyber", "scheduler=none"] {
        held.write_bare(&set(echo));
    }
    assert!(!b.queue.is_true(), "as the kernel has it");
    std::fs::rename(b.file(), b.dir.path().join("elsewhere")).unwrap();
    std::os::unix::fs::symlink(b.dir.path().join("elsewhere"), b.file()).unwrap();
    assert!(held.put_back().unwrap().warning.is_some(), "a link is no journal");
    assert!(b.queue.is_true());
}

#[test]
fn a_refusal_before_any_switch_stops_no_queue() {
    let b = Bench::new();
    let a = carry_out(&b.queue, "scheduler=bfq2");
    assert!(a.cause.is_some());
    assert_eq!(b.queue.writes().len(), 1);
}

/// What a program says where debugfs is mounted, which is for it alone.
fn with_debugfs(words: &[&str]) -> String {
    let script = "mount -t debugfs debugfs /sys/kernel/debug && exec \"$@\"";
    let mut command = Command::new("unshare");
    let output = command.args(["--mount", "sh", "-c", script, "sh"]).args(words).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// How many I/Os the driver of a loop device takes at once: `depth` of its tags in debugfs.
fn depth(device: &LoopDevice) -> u64 {
    let text = with_debugfs(&["cat", &format!("/sys/kernel/debug/block/{}/hctx0/tags", device.kernel())]);
    let depth = text.lines().find_map(|l| l.strip_prefix("depth=")?.parse().ok());
    depth.unwrap_or_else(|| panic!("{text}"))
}

#[test]
fn a_real_device_takes_what_it_says_after_every_way_back() {
    let Some(device) = loop_device(4) else { return };
    device.known_queue();
    let number = || device.get("nr_requests").parse::<u64>().unwrap();
    let id = blktune::sys::inventory::identify(&SysRoot::host(), device.name()).unwrap();
    let queue = || SysfsQueue::new(SysRoot::host(), id.clone());
    let b = Bench { id: id.clone(), ..Bench::new() };
    let journal = b.journal();
    let keep = |text: &str| apply_and_keep(&journal, &queue(), &id, &set(text), 1);
    let back = || {
        let entries = journal.entries().unwrap();
        undo(&journal, &queue(), latest(&entries, |_| true).unwrap())
    };

    // That there is something to mend.
    device.put("nr_requests", "4");
    device.put("scheduler", "kyber");
    device.put("scheduler", "none");
    assert_eq!(number(), 128);
    let says_so = || {
        with_debugfs(&[env!("CARGO_BIN_EXE_blktune"), "show", &device.kernel()])
            .contains("takes 4 I/Os at once in a hardware queue, though nr_requests reads 128")
    };
    let left_behind = depth(&device) == 4;
    assert_eq!(says_so(), left_behind);
    if !left_behind {
        eprintln!("this kernel resizes the tags with a switch: nothing of what follows can fail here");
    }

    keep("scheduler=kyber");
    back();
    assert_eq!((number(), depth(&device), says_so()), (128, 128, false), "a switch and its undo");
    keep("nr_requests=4");
    keep("scheduler=kyber");
    keep("scheduler=none");
    assert_eq!((number(), depth(&device)), (128, 128), "a switch to none");
    keep("nr_requests=4");
    keep("scheduler=bfq");
    back();
    assert_eq!((number(), depth(&device)), (4, 4), "undo of the switch");
    keep("scheduler=bfq");
    let boot = snapshot::load(&journal, &id).unwrap().unwrap();
    snapshot::back_to(&journal, &queue(), &boot, 1);
    assert_eq!((number(), depth(&device)), (128, 128), "back to boot");

    let mut held = HeldQueue::begin(&journal, queue(), &id, 1);
    held.change(&set("scheduler=none nr_requests=4"));
    held.change(&set("scheduler=mq-deadline"));
    held.put_back();
    assert_eq!((number(), depth(&device)), (128, 128), "trials in safe order");
    held.write_bare(&set("nr_requests=4"));
    held.write_bare(&set("scheduler=mq-deadline"));
    held.write_bare(&set("scheduler=none"));
    held.put_back();
    assert_eq!((number(), depth(&device)), (128, 128), "trials by echo");
}
