//! Every worked vector of `tests/fixtures/stat-vectors.json`, made with `SciPy` and plain reference code, by its id.

// A test's functions fail the test by panicking, and indices come from the vectors.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use blktune::stats::block::{Block, Order, carry_over_bias, log_ratio};
use blktune::stats::carry_over::{Step, by_least_squares, carry_over, order_difference};
use blktune::stats::decision::{Decision, judge};
use blktune::stats::drift;
use blktune::stats::interval::Interval;
use blktune::stats::latch::{Return, return_to_baseline};
use blktune::stats::summary::{autocorrelation, deviation, mean, slope};
use blktune::stats::{bootstrap, hodges_lehmann, holm, mann_whitney, mser, outlier, planning, steady};
use blktune::stats::{effective_size, splitmix64, t_test, tost, wilcoxon, williams};
use serde_json::Value;

/// Those about percentiles and aggregates of one run or about counters: checked where the histogram, the run's figures and
/// the telemetry are.
const ELSEWHERE: &[&str] = &[
    "percentile-nearest-rank",
    "percentile-hdr-3sf",
    "percentile-merge",
    "percentile-order-stat-ci",
    "coordinated-omission",
    "throughput-aggregate-equal-bytes",
    "throughput-aggregate-unequal",
    "latency-weighted-mean",
    "diskstats-wrap32",
    "diskstats-rates",
];

/// What checks the vectors whose id begins with these words.
type Check = fn(&Vector);
const CHECKS: &[(&str, Check)] = &[
    ("block-log-ratio-", block_log_ratio),
    ("ratio-ci-", ratio_interval),
    ("wilcoxon-min-p", smallest_p),
    ("wilcoxon-", signed_rank),
    ("hodges-lehmann-two-sample", two_sample_shift),
    ("hodges-lehmann-", typical_value),
    ("bootstrap-bca-", bootstrapped),
    ("splitmix64", generator),
    ("holm-", adjusted_p),
    ("tost-", equivalence),
    ("steady-first-window", first_window),
    ("steady-fio-style", fio_figures),
    ("steady-", steady_window),
    ("mser5", warm_up),
    ("ess", effective),
    ("carryover-bias", bias),
    ("carryover-", carried_over),
    ("return-to-baseline", latched),
    ("drift-slope", drifted),
    ("verdict-", decided),
    ("mde", detectable),
    ("blocks-for-precision", precision),
    ("kalibera-jones-repetitions", repetitions),
    ("relative-stddev-rule", spread_rule),
    ("outliers", outliers),
    ("williams-", sequences),
];

struct Vector {
    id: String,
    input: Value,
    expected: Value,
    tolerance: f64,
}

impl Vector {
    fn numbers(&self, key: &str) -> Vec<f64> {
        numbers(&self.input[key])
    }

    fn input(&self, key: &str) -> f64 {
        self.input[key].as_f64().unwrap_or_else(|| panic!("{}: input {key}", self.id))
    }

    /// Absolute below 1, relative above.
    fn near(&self, got: f64, wanted: f64, what: &str) {
        let limit = self.tolerance.max(1e-15) * wanted.abs().max(1.0);
        assert!((got - wanted).abs() <= limit, "{} {what}: {got}, expected {wanted}", self.id);
    }

    fn is(&self, got: f64, pointer: &str) {
        let wanted = self.expected.pointer(&format!("/{pointer}")).and_then(Value::as_f64);
        self.near(got, wanted.unwrap_or_else(|| panic!("{}: no {pointer}", self.id)), pointer);
    }

    fn are(&self, got: &[f64], pointer: &str) {
        let wanted = numbers(self.expected.pointer(&format!("/{pointer}")).unwrap());
        assert_eq!(got.len(), wanted.len(), "{} {pointer}", self.id);
        for (g, w) in got.iter().zip(wanted) {
            self.near(*g, w, pointer);
        }
    }

    fn range(&self, got: Option<Interval>, pointer: &str) {
        let got = got.unwrap_or_else(|| panic!("{}: no interval for {pointer}", self.id));
        self.are(&[got.lo, got.hi], pointer);
    }

    fn equal(&self, got: impl Into<Value>, key: &str) {
        assert_eq!(got.into(), self.expected[key], "{} {key}", self.id);
    }

    fn blocks(&self) -> Vec<Block> {
        let blocks = self.input["blocks"].as_array().unwrap();
        blocks
            .iter()
            .map(|b| {
                let order = if b["type"] == "ABBA" { Order::Abba } else { Order::Baab };
                let value = |i: usize| b["runs"][i]["mb_per_s"].as_f64().unwrap();
                Block { order, readings: [value(0), value(1), value(2), value(3)] }
            })
            .collect()
    }
}

fn numbers(v: &Value) -> Vec<f64> {
    v.as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect()
}

fn vectors() -> Vec<Vector> {
    let document: Value = serde_json::from_str(include_str!("fixtures/stat-vectors.json")).unwrap();
    let all = document["vectors"].as_array().unwrap();
    all.iter()
        .map(|v| Vector {
            id: v["id"].as_str().unwrap().to_owned(),
            input: v["input"].clone(),
            expected: v["expected"].clone(),
            tolerance: v["abs_or_rel_tolerance"].as_f64().unwrap(),
        })
        .collect()
}

#[test]
fn every_vector_is_met() {
    let mut met = Vec::new();
    for vector in vectors() {
        if !ELSEWHERE.contains(&vector.id.as_str())
            && let Some((_, check)) = CHECKS.iter().find(|(words, _)| vector.id.starts_with(words))
        {
            check(&vector);
            met.push(vector.id);
        }
    }
    assert_eq!(met.len(), 82, "{met:?}");
}

#[test]
fn no_vector_is_left_without_a_check() {
    let ids: Vec<String> = vectors().into_iter().map(|v| v.id).collect();
    assert_eq!(ids.len(), 92);
    for id in &ids {
        let here = CHECKS.iter().any(|(words, _)| id.starts_with(words));
        assert!(here != ELSEWHERE.contains(&id.as_str()), "{id}: checked nowhere, or twice");
    }
    for words in CHECKS.iter().map(|(w, _)| w).chain(ELSEWHERE) {
        assert!(ids.iter().any(|id| id.starts_with(words)), "{words}: no such vector");
    }
}

#[test]
fn a_wrong_number_does_not_pass() {
    let mut vector = vectors().into_iter().find(|v| v.id == "ratio-ci-E1").unwrap();
    vector.input["d"][0] = Value::from(0.051_593_3);
    assert!(std::panic::catch_unwind(|| ratio_interval(&vector)).is_err());
}

fn block_log_ratio(v: &Vector) {
    let d: Vec<f64> = v.blocks().iter().map(|b| b.log_ratio().unwrap()).collect();
    v.are(&d, "d");
}

fn ratio_interval(v: &Vector) {
    let d = v.numbers("d");
    let e = t_test::one_sample(&d).unwrap();
    v.is(e.value, "mean");
    v.is(deviation(&d).unwrap(), "sd");
    v.is(e.value.exp(), "geo_mean_ratio_B_over_A");
    v.is(e.t(), "t");
    v.is(e.p().unwrap(), "p_two_sided");
    for (confidence, alpha) in [("0.95", 0.05), ("0.9", 0.10), ("0.983", 0.017)] {
        v.range(e.interval(alpha), &format!("ci{confidence}_log"));
        v.range(e.interval(alpha).map(Interval::exp), &format!("ci{confidence}_ratio"));
    }
}

fn smallest_p(v: &Vector) {
    let n = v.numbers("n");
    let p: Vec<f64> = n.iter().map(|n| wilcoxon::smallest_p(whole(*n))).collect();
    v.are(&p, "min_p");
    v.equal(p.iter().map(|p| *p <= 0.05).collect::<Vec<_>>(), "can_reach_0_05");
    // And it is what the test gives when all values have one sign.
    let one_sign: Vec<f64> = (1..=6).map(f64::from).collect();
    v.near(wilcoxon::signed_rank(&one_sign).unwrap().p, wilcoxon::smallest_p(6), "all of one sign");
}

fn signed_rank(v: &Vector) {
    let r = wilcoxon::signed_rank(&v.numbers("d")).unwrap();
    v.is(r.w_plus, "W_plus");
    v.is(r.p, "p_two_sided");
    let used = if v.id == "wilcoxon-ties-zero" { "n_used" } else { "n" };
    v.equal(r.used, used);
}

fn typical_value(v: &Vector) {
    let r = hodges_lehmann::paired(&v.numbers("d"), v.input("alpha")).unwrap();
    v.is(r.estimate, "estimate");
    match r.interval {
        None => assert!(v.expected["ci"].is_null()),
        Some(i) => {
            v.equal(i.outside, "k");
            v.range(Some(i.range), "ci");
            v.is(i.confidence, "achieved_confidence");
        }
    }
    assert_eq!(r.interval.is_none(), v.id == "hodges-lehmann-n5");
}

fn two_sample_shift(v: &Vector) {
    let r = mann_whitney::shift(&v.numbers("x"), &v.numbers("y"), v.input("alpha")).unwrap();
    v.is(r.estimate, "shift");
    v.is(r.u, "U_y");
    v.is(r.p, "p_two_sided");
    let i = r.interval.unwrap();
    v.equal(i.outside, "k");
    v.range(Some(i.range), "ci");
    v.is(i.confidence, "achieved_confidence");
}

fn bootstrapped(v: &Vector) {
    let d = v.numbers("d");
    let seed = v.input["seed"].as_u64().unwrap_or(0);
    let b = bootstrap::bca(&d, v.input("alpha"), seed).unwrap();
    v.is(b.z0, "z0");
    v.is(b.acceleration, "acceleration");
    v.is(b.quantiles.lo, "alpha1");
    v.is(b.quantiles.hi, "alpha2");
    v.range(Some(b.interval), "ci_log");
    if v.id.contains("exhaustive") {
        v.equal(b.resamples, "n_resamples");
        v.range(Some(b.interval.exp()), "ci_ratio");
        v.range(Some(b.percentile), "percentile_ci_log");
    } else {
        assert_eq!(v.input["B"], b.resamples);
        v.are(&bootstrap::drawn_means(&d, 5, seed), "first_5_resample_means");
    }
}

fn generator(v: &Vector) {
    let seed = v.input["seed"].as_u64().unwrap();
    let mut random = splitmix64::SplitMix64::new(seed);
    let first = v.expected["first_u64_hex"].as_array().unwrap();
    let bits: Vec<String> = first.iter().map(|_| format!("{:#018x}", random.next_u64())).collect();
    v.equal(bits, "first_u64_hex");
    let mut random = splitmix64::SplitMix64::new(seed);
    v.equal((0..16).map(|_| random.index(8)).collect::<Vec<_>>(), "first_16_indices_below_8");
    // The schedule of the specification: one toss a group of two blocks.
    let mut random = splitmix64::SplitMix64::new(42);
    let tosses: Vec<u8> = (0..10).map(|_| u8::from(random.toss())).collect();
    assert_eq!(tosses, [1, 0, 0, 0, 0, 1, 0, 1, 0, 1]);
    let mut published = splitmix64::SplitMix64::new(1_234_567);
    assert_eq!(published.next_u64(), 6_457_827_717_110_365_317);
}

fn adjusted_p(v: &Vector) {
    let adjusted = holm::adjusted(&v.numbers("p"));
    v.are(&adjusted, "adjusted");
    v.equal(adjusted.iter().map(|p| *p <= v.input("alpha")).collect::<Vec<_>>(), "reject");
}

fn equivalence(v: &Vector) {
    let d = v.numbers("d");
    let t = tost::tost(&d, v.input("margin")).unwrap();
    v.is(t.theta, "theta");
    v.is(t.p_lower, "p_lower");
    v.is(t.p_upper, "p_upper");
    v.is(t.p(), "p_tost");
    v.equal(t.p() <= 0.05, "equivalent_at_0_05");
    let ci = t_test::one_sample(&d).unwrap().interval(0.10);
    v.range(ci, "ci90_log");
    // The interval and the two tests are one rule.
    assert_eq!(ci.unwrap().inside(t.theta), t.p() < 0.05, "{}", v.id);
}

fn window(v: &Vector, w: &steady::Window, prefix: &str) {
    let at = |key: &str| format!("{prefix}{key}");
    v.is(w.mean, &at("mean"));
    v.is(w.slope, &at("slope"));
    v.is(w.range, &at("range_frac"));
    v.is(w.excursion, &at("slope_excursion_frac"));
    for (key, got) in [("range_ok", w.range_ok()), ("slope_ok", w.slope_ok()), ("steady", w.steady())] {
        let wanted = v.expected.pointer(&format!("/{}", at(key))).unwrap();
        assert_eq!(wanted, got, "{} {key}", v.id);
    }
}

fn steady_window(v: &Vector) {
    assert_eq!((v.input("range_limit"), v.input("slope_limit")), (steady::RANGE_LIMIT, steady::SLOPE_LIMIT));
    window(v, &steady::Window::of(&v.numbers("y")).unwrap(), "");
}

fn first_window(v: &Vector) {
    let (round, w) = steady::first_steady(&v.numbers("rounds")).unwrap();
    v.equal(round, "first_steady_last_round");
    window(v, &w, "detail/");
}

fn fio_figures(v: &Vector) {
    let (deviation, slope) = steady::fio_figures(&v.numbers("y")).unwrap();
    v.is(deviation, "max_dev_pct");
    v.is(slope, "slope_pct_per_interval");
}

fn warm_up(v: &Vector) {
    let samples = v.numbers("samples");
    let t = mser::mser5(&samples).unwrap();
    assert_eq!(v.input["batch"], mser::BATCH);
    v.are(&t.objective, "objective");
    v.equal(t.batches, "truncate_batches");
    v.equal(t.samples(), "truncate_samples");
    v.equal(t.at_limit, "at_limit");
    v.is(mean(&samples[t.samples()..]).unwrap(), "mean_after");
}

fn effective(v: &Vector) {
    let x = v.numbers("samples");
    let rho: Vec<f64> = (0..6).map(|lag| autocorrelation(&x, lag).unwrap()).collect();
    v.are(&rho, "rho");
    let e = effective_size::effective_size(&x).unwrap();
    v.equal(e.lags, "lags_used");
    v.is(e.tau, "tau");
    v.is(e.size, "ess");
    v.is(e.size_first_order, "ess_ar1");
    v.is(e.naive_error, "naive_se");
    v.is(e.error, "corrected_se");
}

fn bias(v: &Vector) {
    let lambda = v.input("lambda_B") - v.input("lambda_A");
    v.is(carry_over_bias(lambda, true), "ABBA_prev_A");
    v.is(carry_over_bias(lambda, false), "ABBA_prev_B");
    v.is(carry_over_bias(lambda, true), "BAAB_prev_B");
    v.is(carry_over_bias(lambda, false), "BAAB_prev_A");
}

fn carried_over(v: &Vector) {
    let blocks = v.blocks();
    for (lead_in, name) in [(false, "middle_pair"), (true, "with_lead_in")] {
        let e = carry_over(&blocks, lead_in).unwrap();
        v.is(e.value, &format!("{name}/estimate"));
        v.is(e.t(), &format!("{name}/t"));
        v.is(e.df, &format!("{name}/df"));
        v.is(e.p().unwrap(), &format!("{name}/p_two_sided"));
        v.range(e.interval(0.10), &format!("{name}/ci90"));
        v.range(e.interval(0.05), &format!("{name}/ci95"));
    }
    let order = order_difference(&blocks).unwrap();
    v.is(order.value, "sequence_effect/difference");
    v.is(order.t(), "sequence_effect/welch_t");
    v.is(order.df, "sequence_effect/welch_df");
    v.is(order.p().unwrap(), "sequence_effect/p_two_sided");
    for (kind, key) in [(Order::Abba, "mean_d_ABBA"), (Order::Baab, "mean_d_BAAB")] {
        let of: Vec<f64> =
            blocks.iter().filter(|b| b.order == kind).map(|b| b.log_ratio().unwrap()).collect();
        v.is(mean(&of).unwrap(), &format!("sequence_effect/{key}"));
    }
    let steps: Vec<Step> = blocks.iter().enumerate().flat_map(|(i, b)| steps(i, b)).collect();
    v.is(by_least_squares(&steps, 2, 1).unwrap().value, "ols_check/carryover");
}

/// The trials of a block that had a lead-in of its own first cell, all trials counted.
fn steps(block: usize, b: &Block) -> Vec<Step> {
    let cells = if b.order == Order::Abba { [0, 1, 1, 0] } else { [1, 0, 0, 1] };
    let logs = b.logs();
    (0..4)
        .map(|i| Step {
            block,
            number: 5 * block + 1 + i,
            cell: cells[i],
            previous: Some(if i == 0 { cells[0] } else { cells[i - 1] }),
            log: logs[i],
        })
        .collect()
}

fn latched(v: &Vector) {
    let logs = |key: &str| v.numbers(key).iter().map(|x| x.ln()).collect::<Vec<_>>();
    let theta = v.input("margin").ln_1p();
    let l = return_to_baseline(&logs("a_before"), &logs("a_after"), theta, 0.0, 6.0).unwrap();
    v.is(l.change.value, "log_ratio_after_over_before");
    v.is(l.change.p().unwrap(), "p_two_sided");
    v.is(l.change.df, "df");
    v.range(l.change.interval(0.05), "ci95");
    v.equal(l.result == Return::Latched, "latched");
    v.near(log_ratio(&v.numbers("a_before"), &v.numbers("a_after")).unwrap(), l.change.value, "as a ratio");
}

fn drifted(v: &Vector) {
    let (numbers, logs) = (v.numbers("run_index"), v.numbers("ln_throughput"));
    let e = drift::drift(&numbers, &logs).unwrap();
    v.is(e.value, "slope_per_run");
    v.is(e.error, "stderr");
    v.is(e.p().unwrap(), "p");
    v.is(100.0 * drift::total(e.value, logs.len()), "total_drift_pct");
    v.near(slope(&logs).unwrap(), e.value, "as a plain line");
}

fn decided(v: &Vector) {
    let j = judge(&v.numbers("d"), v.input("margin"), v.input("alpha"));
    let code = match j.decision {
        Decision::Preliminary => "PRELIMINARY",
        Decision::Equivalent { .. } => "EQUIVALENT",
        Decision::More { .. } => "B_FASTER",
        Decision::Less { .. } => "A_FASTER",
        Decision::Inconclusive => "INCONCLUSIVE",
    };
    v.equal(code, "code");
    if !v.expected["mean"].is_null() {
        v.is(j.mean, "mean");
        v.range(j.difference, "ci_diff");
        v.range(j.equivalence, "ci_equiv");
    }
    match j.decision {
        Decision::Equivalent { measurable } if !j.identical() => {
            v.equal(measurable, "measurable_small_difference");
        }
        Decision::More { at_least_margin } | Decision::Less { at_least_margin } => {
            v.equal(at_least_margin, "at_least_margin");
        }
        Decision::Inconclusive => v.equal(j.blocks_more(2), "n_more_blocks"),
        Decision::Preliminary => v.equal(planning::FEWEST_BLOCKS - j.n, "blocks_to_minimum"),
        Decision::Equivalent { .. } => assert!(v.id.contains("all_equal")),
    }
}

fn detectable(v: &Vector) {
    for (row, s) in v.numbers("sd").into_iter().enumerate() {
        let percent = |n: &f64| 100.0 * planning::detectable(s, whole(*n), 0.05).unwrap().exp_m1();
        v.are(&v.numbers("n").iter().map(percent).collect::<Vec<_>>(), &format!("mde_pct/{row}"));
    }
}

fn precision(v: &Vector) {
    for (row, s) in v.numbers("sd").into_iter().enumerate() {
        let blocks: Vec<Value> = v
            .numbers("h")
            .iter()
            .map(|h| planning::blocks_for_precision(s, *h, 0.05).map_or(Value::Null, Value::from))
            .collect();
        assert_eq!(Value::from(blocks), v.expected["n"][row], "{} sd {s}", v.id);
    }
}

fn repetitions(v: &Vector) {
    let r = planning::repetitions(&v.numbers("cost_s"), &v.numbers("unbiased_variance_T2"));
    v.equal(r.into_iter().map(Option::unwrap).collect::<Vec<_>>(), "r");
}

fn spread_rule(v: &Vector) {
    let rsd = v.input("rsd_pct");
    let half: Vec<f64> =
        v.numbers("n").iter().map(|n| planning::half_width(rsd, whole(*n), 0.05).unwrap()).collect();
    v.are(&half, "half_width_pct");
}

fn outliers(v: &Vector) {
    let o = outlier::outliers(&v.numbers("x")).unwrap();
    v.are(&o.modified_z.clone().unwrap(), "modified_z");
    v.is(o.quartiles.0, "q1");
    v.is(o.quartiles.1, "q3");
    v.equal(o.flagged.clone(), "flag_mad");
    v.equal(o.flagged, "severe_low");
}

fn sequences(v: &Vector) {
    let n = whole(v.input("n"));
    let rows = williams::sequences(n);
    assert_eq!(rows.len(), williams::complete_set(n));
    for a in 0..n {
        for b in (0..n).filter(|b| *b != a) {
            let times: usize =
                rows.iter().map(|r| r.windows(2).filter(|w| w[0] == a && w[1] == b).count()).sum();
            v.equal(times, "ordered_pair_count");
        }
    }
    v.equal(rows.into_iter().map(Value::from).collect::<Vec<_>>(), "rows");
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // small whole numbers of the vectors
fn whole(n: f64) -> usize {
    n as usize
}
