//! Many experiments with a known truth, through the whole conductor.

use blktune::experiment::event::Ending;
use blktune::experiment::metric::Metric;
use blktune::experiment::observation::{Question, from_trials};
use blktune::experiment::trial::{Role, Trial};
use blktune::stats::block::log_ratio;
use blktune::stats::carry_over::{Step, slope_beside_cells};
use blktune::stats::decision::Decision;
use blktune::stats::latch::{Return, return_to_baseline};
use blktune::stats::looks::{PER_LOOK, judge_at_looks, looks};
use blktune::stats::summary::mean;

use super::made::{Made, Nature, question, run};

const SEEDS: u64 = 100;

/// The decision, from what the conductor let stand of the trials.
fn decision(nature: Nature, seed: u64) -> Decision {
    let mut bench = Made::new(nature, seed);
    let (conductor, conducted, _) = run(question("randread-4k", seed, |_| {}), &mut bench, None);
    assert!(matches!(conducted.ending, Ending::Decided | Ending::Finished), "{seed}: {conducted:?}");
    assert_eq!(conductor.trials().iter().filter(|t| t.plan.role == Role::BaselineAfter).count(), 3);
    let question = Question::of(conductor.design(), None);
    let kept = from_trials(&question, conductor.trials());
    let trials: Vec<&Trial> =
        conductor.trials().iter().zip(&kept).filter(|(_, o)| !o.void).map(|(t, _)| t).collect();
    let blocks = trials.iter().filter_map(|t| t.plan.block).max().unwrap();
    let of = |block: u32, cell: usize| -> Vec<f64> {
        let those = trials.iter().filter(|t| {
            t.plan.role == Role::Trial && (t.plan.block, t.plan.cell) == (Some(block), Some(cell))
        });
        those.map(|t| t.readings[&Metric::Iops]).collect()
    };
    let d: Vec<f64> = (1..=blocks).map(|b| log_ratio(&of(b, 0), &of(b, 1)).unwrap()).collect();
    judge_at_looks(&[&d], 0.03, PER_LOOK, looks(2))[0].judgement.decision
}

fn count(nature: Nature, is: impl Fn(Decision) -> bool) -> u64 {
    (0..SEEDS).filter(|seed| is(decision(nature, *seed))).count() as u64
}

fn differ(d: Decision) -> bool {
    matches!(d, Decision::More { .. } | Decision::Less { .. })
}

#[test]
fn without_an_effect_differences_are_rarely_found() {
    let false_ones = count(Nature { noise: 0.03, ..Nature::default() }, differ);
    // 5 of 100 are allowed; of 11 and more there is less than one chance in a hundred then.
    assert!(false_ones <= 11, "{false_ones} of {SEEDS}");
}

#[test]
fn a_true_5_percent_is_found_and_not_called_equivalent() {
    let nature = Nature { noise: 0.01, effect: 0.05_f64.ln_1p(), ..Nature::default() };
    let found = count(nature, |d| matches!(d, Decision::More { .. }));
    assert!(found >= 95, "{found} of {SEEDS}");
    let equivalent = count(nature, |d| matches!(d, Decision::Equivalent { .. }));
    assert!(equivalent <= 5, "{equivalent} of {SEEDS}");
}

#[test]
fn a_drift_or_a_slow_first_trial_is_no_effect() {
    for nature in [
        Nature { noise: 0.01, drift: 0.002, ..Nature::default() },
        Nature { noise: 0.01, first: 0.7_f64.ln(), ..Nature::default() },
    ] {
        let differing = count(nature, differ);
        assert!(differing <= 11, "{nature:?}: {differing} of {SEEDS}");
        let equivalent = count(nature, |d| matches!(d, Decision::Equivalent { .. }));
        assert!(equivalent >= 89, "{nature:?}: {equivalent} of {SEEDS}");
    }
}

/// What the settings that were found say, measured before the first block and after the last.
fn returned(nature: Nature, seed: u64) -> Return {
    let mut bench = Made::new(nature, seed);
    let (conductor, ..) = run(question("randread-4k", seed, |_| {}), &mut bench, None);
    let of = |role| -> Vec<(f64, f64)> {
        let those = conductor.trials().iter().filter(|t| t.plan.role == role);
        those.map(|t| (f64::from(t.plan.number), t.readings[&Metric::Iops].ln())).collect()
    };
    let (before, after) = (of(Role::BaselineBefore), of(Role::BaselineAfter));
    let mut steps: Vec<Step> = Vec::new();
    for pair in conductor.trials().windows(2).filter(|p| p[1].plan.role == Role::Trial) {
        let t = &pair[1];
        steps.push(Step {
            block: t.plan.block.unwrap() as usize - 1,
            number: t.plan.number as usize,
            cell: t.plan.cell.unwrap(),
            previous: pair[0].plan.cell,
            log: t.readings[&Metric::Iops].ln(),
        });
    }
    let slope = slope_beside_cells(&steps, 2).unwrap();
    let logs = |x: &[(f64, f64)]| x.iter().map(|p| p.1).collect::<Vec<_>>();
    let middle = |x: &[(f64, f64)]| mean(&x.iter().map(|p| p.0).collect::<Vec<_>>()).unwrap();
    let distance = middle(&after) - middle(&before);
    return_to_baseline(&logs(&before), &logs(&after), 0.03_f64.ln_1p(), slope, distance).unwrap().result
}

#[test]
fn a_latch_is_found_and_a_drift_is_not_called_one() {
    let latched = |nature| (0..SEEDS).filter(|s| returned(nature, *s) == Return::Latched).count();
    let latch = latched(Nature { noise: 0.01, latch: 0.08_f64.ln_1p(), ..Nature::default() });
    let drift = latched(Nature { noise: 0.01, drift: 0.002, ..Nature::default() });
    assert!(latch >= 95 && drift <= 11, "of {SEEDS}: a latch {latch}, a drift {drift}");
}
