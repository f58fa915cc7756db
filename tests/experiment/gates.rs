//! Each gate: a clean trial is clean, and each flaw alone is found by its own gate.

use std::sync::atomic::AtomicBool;

use blktune::experiment::bench::{Bench as _, Measured, Moved};
use blktune::experiment::gate::{Expected, judge};
use blktune::experiment::metric::Metric;
use blktune::experiment::passage::{Passage, Way};
use blktune::experiment::trial::Gate;
use blktune::sys::queue::QueueState;
use blktune::units::Bytes;

use super::made::{Made, Nature};

type Flaw = fn(&mut Measured);

fn clean() -> Measured {
    Made::new(Nature::default(), 1).measure(&[], &AtomicBool::new(false)).unwrap()
}

fn found(change: impl FnOnce(&mut Measured)) -> Vec<(Gate, bool, String)> {
    let mut m = clean();
    let expected = Expected { settings: m.settings.0.clone(), id: m.id.clone(), size: m.size };
    change(&mut m);
    judge(&m, &expected, Metric::Throughput).into_iter().map(|f| (f.gate, f.voids, f.text)).collect()
}

fn set(state: &mut QueueState, name: &str, value: &str) {
    state.attributes.get_mut(name).unwrap().value = Some(value.to_owned());
}

#[test]
fn each_flaw_is_found_by_its_gate_alone() {
    assert_eq!(found(|_| {}), []);
    let cases: [(Gate, bool, &str, Flaw); 16] = [
        (Gate::G1, true, "read_ahead_kb changed from 64 to 128 during", |m| {
            set(&mut m.settings.1, "read_ahead_kb", "128");
        }),
        (Gate::G3, true, "one I/O failed", |m| m.errors = 1),
        (Gate::G3, true, "no I/O", |m| m.ios = 0),
        (Gate::G3, true, "no reading of throughput", |m| m.readings.clear()),
        (Gate::G4, true, "others used it", |m| scale(m, 103)),
        (Gate::G4, true, "from a cache", |m| scale(m, 97)),
        (Gate::G7, true, "slept", |m| m.asleep_s = 0.2),
        (Gate::G7, true, "this program was stopped", |m| m.halted = true),
        (Gate::G8, true, "size changed", |m| m.size = Some(Bytes(8))),
        (Gate::G8, true, "another device", |m| m.id.as_mut().unwrap().diskseq = Some(8)),
        (Gate::G8, true, "gone", |m| m.id = None),
        (Gate::G2, false, "not steady", |m| m.slices[..16].iter_mut().for_each(|r| *r *= 2.0)),
        (Gate::G5, false, "96%", |m| m.engine_cpu = Some(0.96)),
        (Gate::G5, false, "other machines", |m| m.stolen = Some(0.02)),
        (Gate::G6, false, "84 C", |m| m.heat = Some("it is at 84 C".to_owned())),
        (Gate::G1, true, "before the trial", |m| {
            set(&mut m.settings.0, "nomerges", "2");
            set(&mut m.settings.1, "nomerges", "2");
        }),
    ];
    for (gate, voids, part, flaw) in cases {
        let f = found(flaw);
        assert!(
            f.len() == 1 && (f[0].0, f[0].1) == (gate, voids) && f[0].2.contains(part),
            "{gate:?} {part}: {f:?}"
        );
    }
}

fn scale(m: &mut Measured, percent: u64) {
    m.device = Some(Moved { read: Bytes(m.engine.read.0 / 100 * percent), written: Bytes(0) });
}

#[test]
fn the_limits_of_foreign_io_are_those_of_the_way_of_reading() {
    assert_eq!(found(|m| scale(m, 102)), []);
    let buffered = |percent| {
        found(move |m| {
            m.passage = Passage::BUFFERED_READS;
            scale(m, percent);
        })
        .len()
    };
    assert_eq!((buffered(109), buffered(111)), (0, 1));
    let unjudged = |m: &mut Measured| {
        let way = Way { limit: None, more: Bytes(0) };
        m.passage = Passage { read: way, written: way, shared: false };
        scale(m, 300);
    };
    assert_eq!(found(unjudged), []);
    assert_eq!(found(|m| m.device = None), []);
}

#[test]
fn others_that_were_there_before_are_told_and_void_nothing() {
    let beside = |percent| {
        found(move |m| {
            m.passage.shared = true;
            scale(m, percent);
        })
    };
    let busy = beside(150);
    assert!(busy.len() == 1 && (busy[0].0, busy[0].1) == (Gate::G4, false), "{busy:?}");
    assert!(beside(50)[0].1, "what a cache answered is no others' doing");
}
