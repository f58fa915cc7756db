//! Many experiments with a known truth, from the schedule to the verdict: schedule, settings on a made-up queue, trials on a
//! made-up device, gates, looks, analysis. `docs/statistics.md` shows what this counts; with `BLKTUNE_WRITE_FIGURES=1` it writes
//! the table there.

use std::fmt::Write as _;
use std::thread;

use blktune::experiment::analysis::{Analysis, live};
use blktune::experiment::circumstances::Circumstances;
use blktune::experiment::design::{Design, Isolation};
use blktune::experiment::event::Ending;
use blktune::experiment::observation::{Question, from_trials};
use blktune::experiment::order::Light;
use blktune::experiment::trial::Role;
use blktune::experiment::verdict::Verdict;

use super::made::{Made, Nature, question, rotational, run};

const SEEDS: u64 = 400;
/// Without a single exception.
const SEEDS_ALL: usize = 400;
/// Least of 400 that is found at all times: 95 %.
const MOSTLY: usize = 380;
/// Most of 400 where 5 % are allowed: more comes by chance once in a hundred times.
const RARELY: usize = 31;

/// A truth that is tried, what must come of it, and how often.
struct Case {
    truth: &'static str,
    nature: Nature,
    asked: Ask,
    limits: &'static [(Outcome, Limit)],
}

/// What is asked, by the seed.
pub(crate) type Ask = fn(u64) -> Design;

fn schedulers(seed: u64) -> Design {
    question("randread-4k", seed, |_| {})
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Differs,
    Better,
    Equivalent,
    Invalid,
    Latched,
    Red,
}

#[derive(Clone, Copy, Debug)]
enum Limit {
    Most(usize),
    Least(usize),
}

const QUIET: Nature = Nature { noise: 0.01, ..Nature::SAME };
/// Natural logarithms of 1.05, 1.08 and 0.7.
const FIVE: f64 = 0.048_790_164;
const EIGHT: f64 = 0.076_961_041;
const SLOW: f64 = -0.356_674_944;
/// Of 1.1.
const TEN: f64 = 0.095_310_18;

fn cases() -> Vec<Case> {
    use Limit::{Least, Most};
    use Outcome::{Better, Differs, Equivalent, Invalid, Latched, Red};
    let case = |truth, nature, limits| Case { truth, nature, asked: schedulers, limits };
    // 10 % from each doubling of read-ahead, which every write of the flag may raise.
    let ratchet = Nature { read_ahead: TEN, ..QUIET };
    let flag = |truth, asked, limits| Case { truth, nature: ratchet, asked, limits };
    vec![
        case(
            "the same, noise 1 %",
            QUIET,
            &[(Differs, Most(RARELY)), (Latched, Most(RARELY)), (Equivalent, Least(MOSTLY))],
        ),
        case("the same, noise 3 %", Nature { noise: 0.03, ..QUIET }, &[(Differs, Most(RARELY))]),
        case(
            "5 % faster, noise 1 %",
            Nature { effect: FIVE, ..QUIET },
            &[(Better, Least(MOSTLY)), (Equivalent, Most(RARELY))],
        ),
        case(
            "the same, drift of 0.2 % a trial",
            Nature { drift: 0.002, ..QUIET },
            &[(Differs, Most(RARELY)), (Latched, Most(RARELY))],
        ),
        case(
            "the same, the very first trial 30 % slower",
            Nature { first: SLOW, ..QUIET },
            &[(Differs, Most(RARELY))],
        ),
        case(
            "latched 8 % up by the first candidate trial",
            Nature { latch: EIGHT, ..QUIET },
            &[(Latched, Least(MOSTLY)), (Better, Most(RARELY))],
        ),
        case(
            "the same, 5 % faster right after the candidate",
            Nature { carry: FIVE, ..QUIET },
            &[(Red, Least(MOSTLY)), (Differs, Most(RARELY))],
        ),
        flag(
            "rotational, which moves read-ahead: isolated",
            |seed| rotational(seed, Isolation::Isolated),
            &[(Equivalent, Least(MOSTLY)), (Differs, Most(RARELY))],
        ),
        flag(
            "the same as bare writes (`--side-effects`)",
            |seed| rotational(seed, Isolation::SideEffects),
            &[(Better, Least(MOSTLY))],
        ),
        flag(
            "the same in sequence (`--side-effects=sequence`)",
            |seed| rotational(seed, Isolation::Sequence),
            &[(Red, Least(SEEDS_ALL)), (Invalid, Least(SEEDS_ALL))],
        ),
    ]
}

/// All that is tried here, and what is asked of it.
pub(crate) fn truths() -> Vec<(Nature, Ask)> {
    cases().into_iter().map(|c| (c.nature, c.asked)).collect()
}

fn experiment(nature: Nature, design: Design, seed: u64) -> Analysis {
    let mut bench = Made::new(nature, seed);
    let (conductor, conducted, _) = run(design, &mut bench, None);
    let sequence = conductor.design().isolation == Isolation::Sequence;
    let whole = [Ending::Decided, Ending::Finished].contains(&conducted.ending);
    assert!(whole || sequence && conducted.ending == Ending::Invalid, "{seed}: {conducted:?}");
    assert_eq!(conductor.trials().iter().filter(|t| t.plan.role == Role::BaselineAfter).count(), 3);
    let question = Question::of(conductor.design(), None);
    let told: Circumstances = conductor.circumstances();
    live(&question, &from_trials(&question, conductor.trials()), &told)
}

fn came(a: &Analysis, outcome: Outcome) -> bool {
    let verdict = a.primary().next().map(|c| c.verdict);
    match outcome {
        Outcome::Differs => matches!(verdict, Some(Verdict::Better | Verdict::Worse)),
        Outcome::Better => verdict == Some(Verdict::Better),
        Outcome::Equivalent => verdict == Some(Verdict::Equivalent),
        Outcome::Invalid => verdict == Some(Verdict::Invalid),
        Outcome::Latched => a.order.latched == Some(true),
        Outcome::Red => a.order.light == Light::Red,
    }
}

/// All seeds of a case, on as many threads as there are CPUs.
fn all(case: &Case) -> Vec<Analysis> {
    let Case { nature, asked, .. } = *case;
    let threads = thread::available_parallelism().map_or(1, |n| n.get() as u64);
    thread::scope(|scope| {
        let parts: Vec<_> = (0..threads)
            .map(|part| {
                let seeds = (0..SEEDS).filter(move |seed| seed % threads == part);
                scope.spawn(move || {
                    seeds.map(|seed| experiment(nature, asked(seed), seed)).collect::<Vec<_>>()
                })
            })
            .collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    })
}

#[test]
fn what_is_true_is_found_and_what_is_not_is_not() {
    let mut table = String::from(
        "| truth | better | worse | equivalent | inconclusive | not valid | light red | latched | blocks, mean |\n|---|---|---|---|---|---|---|---|---|\n",
    );
    let mut missed = Vec::new();
    for case in cases() {
        let found = all(&case);
        let verdicts = |v| found.iter().filter(|a| a.primary().next().map(|c| c.verdict) == Some(v)).count();
        let count = |o| found.iter().filter(|a| came(a, o)).count();
        let blocks: usize = found.iter().map(|a| a.complete_blocks).sum();
        #[allow(clippy::cast_precision_loss)] // a mean of a few hundred
        let mean = blocks as f64 / found.len() as f64;
        let _ = writeln!(
            table,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {:.1} |",
            case.truth,
            verdicts(Verdict::Better),
            verdicts(Verdict::Worse),
            verdicts(Verdict::Equivalent),
            verdicts(Verdict::Inconclusive),
            verdicts(Verdict::Invalid),
            count(Outcome::Red),
            count(Outcome::Latched),
            mean,
        );
        for (outcome, limit) in case.limits {
            let n = count(*outcome);
            let held = match *limit {
                Limit::Most(most) => n <= most,
                Limit::Least(least) => n >= least,
            };
            if !held {
                missed.push(format!("{}: {outcome:?} {n} of {SEEDS}, {limit:?}", case.truth));
            }
        }
    }
    assert!(missed.is_empty(), "{missed:#?}\n{table}");
    documented(&table);
}

/// The document shows these very figures: seeds are fixed, so they are the same everywhere.
fn documented(table: &str) {
    const MARKS: [&str; 2] = ["<!-- simulated figures: begin -->\n", "<!-- simulated figures: end -->"];
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/statistics.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (head, rest) = text.split_once(MARKS[0]).unwrap();
    let (shown, tail) = rest.split_once(MARKS[1]).unwrap();
    if std::env::var_os("BLKTUNE_WRITE_FIGURES").is_some() {
        std::fs::write(path, [head, MARKS[0], table, MARKS[1], tail].concat()).unwrap();
        return;
    }
    assert_eq!(
        shown, table,
        "docs/statistics.md shows other figures: write them with BLKTUNE_WRITE_FIGURES=1"
    );
}
