//! The order of trials.

use blktune::experiment::cell_state::CellStates;
use blktune::experiment::design::Isolation;
use blktune::experiment::schedule::{block, order_of, whole};
use blktune::experiment::trial::Role;
use blktune::stats::block::Order;
use blktune::sys::name::KernelName;
use blktune::sys::queue::QueueState;
use blktune::tuning::control::QueueControl as _;

use super::fake::FakeQueue;
use super::made::question;

#[test]
fn the_seed_gives_the_documented_order() {
    let firsts: Vec<bool> = (0..10).map(|g| order_of(42, 2 * g + 1) == Order::Baab).collect();
    assert_eq!(firsts.map_to_bits(), [1, 0, 0, 0, 0, 1, 0, 1, 0, 1]);
}

trait Bits {
    fn map_to_bits(&self) -> Vec<u8>;
}

impl Bits for Vec<bool> {
    fn map_to_bits(&self) -> Vec<u8> {
        self.iter().map(|b| u8::from(*b)).collect()
    }
}

#[test]
fn every_group_has_both_orders_and_every_lead_in_is_of_the_first_cell() {
    for seed in 0..200 {
        let d = question("randread-4k", seed, |_| {});
        for group in 0..10 {
            assert_ne!(order_of(seed, 2 * group + 1), order_of(seed, 2 * group + 2));
        }
        let all = whole(&d);
        assert_eq!(all.len(), 6 + 20 * 5);
        assert!(all.iter().zip(1..).all(|(t, n)| t.number == n));
        for pair in all.windows(2).filter(|p| p[0].role == Role::LeadIn) {
            assert_eq!((pair[0].cell, pair[0].block), (pair[1].cell, pair[1].block));
        }
        let of = |cell| all.iter().filter(|t| t.role == Role::Trial && t.cell == Some(cell)).count();
        assert_eq!((of(0), of(1)), (40, 40));
    }
    let d = question("randread-4k", 1, |a| a.lead_ins = false);
    assert_eq!(block(&d, 1, 1, 9).len(), 4);
}

#[test]
fn what_another_scheduler_derives_is_not_wanted() {
    let queue = FakeQueue::new();
    let d = question("randread-4k", 1, |_| {});
    let cells = CellStates::new(&d, queue.read());
    let names = |cell| -> Vec<String> {
        cells.writes(cell, &queue.read()).settled.into_iter().map(|c| c.name).collect()
    };
    let bfq = names(Some(1));
    assert!(bfq.iter().any(|n| n == "scheduler") && bfq.iter().any(|n| n == "read_ahead_kb"), "{bfq:?}");
    assert!(!bfq.iter().any(|n| n == "nr_requests" || n == "wbt_lat_usec"), "{bfq:?}");
    assert!(names(Some(0)).is_empty() && names(None).is_empty(), "nothing differs");
    queue.foreign("scheduler", "bfq");
    let back = names(Some(0));
    assert!(back.iter().any(|n| n == "nr_requests"), "{back:?}");
    assert!(!back.iter().any(|n| n == "wbt_lat_usec"), "{back:?}");
}

#[test]
fn bare_writes_are_the_levels_alone() {
    let queue = FakeQueue::new();
    for isolation in [Isolation::SideEffects, Isolation::Sequence] {
        let d = question("randread-4k", 1, |a| a.isolation = isolation);
        let cells = CellStates::new(&d, queue.read());
        let writes = cells.writes(Some(1), &queue.read());
        assert_eq!((writes.settled.len(), writes.bare.len()), (0, 1), "{isolation:?}");
        assert_eq!(writes.bare[0].requested, "bfq");
        // An echo writes also what is there already; what was found is found without one.
        let (as_found, found) = (cells.writes(Some(0), &queue.read()), cells.writes(None, &queue.read()));
        assert_eq!(as_found.bare.iter().map(|c| &*c.requested).collect::<Vec<_>>(), ["none"]);
        assert_eq!((found.settled.len(), found.bare.len()), (0, 0));
    }
}

#[test]
fn on_three_kernels_a_full_state_is_what_was_found_and_nothing_derived() {
    let mut looked_at = 0;
    for kernel in ["linux-6.1-qemu", "linux-6.12-qemu", "linux-6.18-loop"] {
        let tree = super::fixtures::sysroot(kernel);
        for entry in std::fs::read_dir(tree.path().join("sys/block")).unwrap() {
            let name = KernelName::new(entry.unwrap().file_name().to_str().unwrap()).unwrap();
            let found = QueueState::read(&tree.root, &name);
            let Some(list) = found.schedulers().filter(|s| s.changeable && s.available.len() > 1) else {
                continue;
            };
            let other = list.available.iter().find(|s| **s != list.active).unwrap();
            let mut d = question("randread-4k", 1, |_| {});
            d.cells[0].levels = vec![list.active.clone()];
            d.cells[1].levels = vec![other.clone()];
            let cells = CellStates::new(&d, found.clone());
            let wanted = |cell| cells.writes(Some(cell), &found).settled;
            assert!(wanted(0).is_empty(), "{kernel} {name}");
            let switched = wanted(1);
            let derived = |n: &str| {
                n.starts_with("iosched/") || ["nr_requests", "async_depth", "wbt_lat_usec"].contains(&n)
            };
            assert!(!switched.iter().any(|c| derived(&c.name)), "{kernel} {name}: {switched:?}");
            for c in switched.iter().filter(|c| c.name != "scheduler") {
                assert_eq!(found.effective(&c.name), Some(c.requested.clone()), "{kernel} {name}");
            }
            looked_at += 1;
        }
    }
    assert!(looked_at >= 3, "{looked_at}");
}
