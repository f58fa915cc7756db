//! Property tests that are only worth something if chance brought what they look for.

use std::cell::Cell;
use std::fmt::Debug;

use proptest::prelude::*;
use proptest::test_runner::{TestCaseResult, TestRunner};

/// How often something has to be seen, what it is, and where it is counted.
pub type Sought<'a> = (&'a Cell<u32>, u32, &'a str);

/// Rounds after which what was not seen is taken to never come.
const MOST_ROUNDS: u32 = 20;

/// Tries at least `cases` values, and more until everything sought was seen: how often chance brings it differs from run to
/// run, and no unlucky one may fail.
///
/// # Panics
/// A value fails the test, or something sought does not come.
pub fn until_seen<S: Strategy>(
    cases: u32,
    source_file: &'static str,
    values: &S,
    sought: &[Sought<'_>],
    test: impl Fn(S::Value) -> TestCaseResult,
) where
    S::Value: Debug,
{
    for _ in 0..MOST_ROUNDS {
        let config = ProptestConfig { cases, source_file: Some(source_file), ..ProptestConfig::default() };
        if let Err(why) = TestRunner::new(config).run(values, &test) {
            panic!("{why}");
        }
        if sought.iter().all(|(seen, least, _)| seen.get() >= *least) {
            return;
        }
    }
    let missing = sought.iter().filter(|(seen, least, _)| seen.get() < *least);
    let missing: Vec<String> =
        missing.map(|(seen, _, what)| format!("{what} ({} times)", seen.get())).collect();
    panic!("did not come often enough: {}", missing.join(", "));
}
