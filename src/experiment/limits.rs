//! What an experiment is when nothing is said of it, what can be said, and within which limits
//! (`docs/statistics.md` gives the reasons).

use std::time::Duration;

use crate::stats::planning::FEWEST_BLOCKS;
use crate::workload::job::Job;
use crate::workload::value::parse_time;

use super::design::Blocks;
use super::metric::Metric;

/// Measured part of a trial.
pub const TRIAL: Duration = Duration::from_secs(8);
/// Discarded part before it.
pub const RAMP: Duration = Duration::from_secs(2);
/// Pause after settings were changed.
pub const SETTLE: Duration = Duration::from_secs(1);
/// Smallest difference that matters: 3 %.
pub const MARGIN: f64 = 0.03;
/// Blocks of a calibration.
pub const CALIBRATION_BLOCKS: usize = 6;

/// Shortest and longest trial: below, a device's caches are most of what is measured.
const TRIALS: (Duration, Duration) = (Duration::from_secs(3), Duration::from_hours(1));
/// Longest ramp and longest pause.
const MOST_PAUSE: Duration = Duration::from_mins(1);
/// Least and greatest margin.
const MARGINS: (f64, f64) = (0.005, 0.5);
/// Most blocks of a fixed number.
const MOST_BLOCKS: usize = 100;

/// What decides, if nobody says: of an open loop the latency that one in a hundred exceeds, of random I/O the I/Os a second,
/// else the throughput. The first job speaks for those beside it.
#[must_use]
pub fn metric_for(jobs: &[Job]) -> Metric {
    match jobs.first() {
        Some(j) if j.arrivals_per_s().is_some() => Metric::P99,
        Some(j) if j.rw.random() => Metric::Iops,
        _ => Metric::Throughput,
    }
}

/// `--metric`.
///
/// # Errors
/// The words there are.
pub fn parse_metric(text: &str) -> Result<Metric, String> {
    Metric::parse(text)
        .ok_or_else(|| format!("--metric is one of {}", Metric::ALL.map(Metric::word).join(", ")))
}

/// `--margin`: a percentage, as a share.
///
/// # Errors
/// The form and the limits.
pub fn parse_margin(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').map(str::trim).unwrap_or_default();
    let plain = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let share = number.parse::<f64>().ok().filter(|_| plain).map(|p| p / 100.0);
    check_margin(share.ok_or("--margin is a percentage from 0.5% to 50%, as in 3%")?)
}

/// A share as a percentage: the shortest text that [`parse_margin`] reads as the same share. `None` if it reads none as that:
/// not every share is a hundredth of a decimal number.
#[must_use]
pub fn percentage(share: f64) -> Option<String> {
    #[allow(clippy::float_cmp)] // the very same share is what is asked for
    let same = |text: &String| text.parse::<f64>().is_ok_and(|p| p / 100.0 == share);
    let near = share * 100.0;
    let short = (0..=16).map(|digits| format!("{near:.digits$}")).find(same);
    // The product may be a digit off at its end.
    let long = || [near, near.next_up(), near.next_down()].map(|p| p.to_string()).into_iter().find(same);
    Some(short.or_else(long)? + "%")
}

/// A margin, if it is within the limits.
///
/// # Errors
/// The limits.
pub fn check_margin(share: f64) -> Result<f64, String> {
    if (MARGINS.0..=MARGINS.1).contains(&share) {
        Ok(share)
    } else {
        Err("--margin is a percentage from 0.5% to 50%, as in 3%".to_owned())
    }
}

/// `--trial`.
///
/// # Errors
/// The form and the limits.
pub fn parse_trial(text: &str) -> Result<Duration, String> {
    check_trial(parse_time(text).map_err(|e| format!("--trial: {e}"))?)
}

/// The measured part of a trial, if it is within the limits.
///
/// # Errors
/// The limits.
pub fn check_trial(time: Duration) -> Result<Duration, String> {
    if (TRIALS.0..=TRIALS.1).contains(&time) { Ok(time) } else { Err("--trial is from 3s to 60m".to_owned()) }
}

/// `--ramp`.
///
/// # Errors
/// The form and the limits.
pub fn parse_ramp(text: &str) -> Result<Duration, String> {
    pause("--ramp", parse_time(text).map_err(|e| format!("--ramp: {e}"))?)
}

/// `--settle`.
///
/// # Errors
/// The form and the limits.
pub fn parse_settle(text: &str) -> Result<Duration, String> {
    pause("--settle", parse_time(text).map_err(|e| format!("--settle: {e}"))?)
}

/// A ramp or a pause, if it is within the limits.
///
/// # Errors
/// The limits, with the flag.
pub fn pause(flag: &str, time: Duration) -> Result<Duration, String> {
    if time <= MOST_PAUSE { Ok(time) } else { Err(format!("{flag} is from 0s to 60s")) }
}

/// `--blocks`: `auto`, or a number.
///
/// # Errors
/// The form and the limits.
pub fn parse_blocks(text: &str) -> Result<Blocks, String> {
    if text == "auto" {
        return Ok(Blocks::Adaptive);
    }
    check_blocks(Blocks::Fixed(text.parse().unwrap_or_default()))
}

/// A number of blocks, if it is within the limits: even, so that as many begin with the one cell as with the other.
///
/// # Errors
/// The limits.
pub fn check_blocks(blocks: Blocks) -> Result<Blocks, String> {
    match blocks {
        Blocks::Fixed(n) if !(FEWEST_BLOCKS..=MOST_BLOCKS).contains(&n) || n % 2 == 1 => {
            Err(format!("--blocks is auto, or an even number from {FEWEST_BLOCKS} to {MOST_BLOCKS}"))
        }
        _ => Ok(blocks),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::assemble::assemble;
    use proptest::prelude::*;

    #[test]
    fn the_workload_says_what_decides() {
        for (preset, set, metric) in [
            ("seqread-1m", &[][..], Metric::Throughput),
            ("randread-4k-qd32", &[], Metric::Iops),
            ("randread-4k", &["rate_iops=100"], Metric::P99),
            ("readers-vs-writer", &[], Metric::Iops),
        ] {
            assert_eq!(metric_for(&assemble(preset, set).unwrap()), metric, "{preset}");
        }
    }

    #[test]
    fn what_is_out_of_its_limits_names_flag_and_range() {
        assert_eq!(parse_margin("3%"), Ok(0.03));
        assert_eq!(parse_margin("0.5%"), Ok(0.005));
        for bad in ["0.03", "3", "0.4%", "51%", "-3%", "inf%", "%", "1e0%", "NaN%"] {
            assert!(parse_margin(bad).unwrap_err().contains("0.5% to 50%"), "{bad}");
        }
        assert_eq!(parse_trial("3s"), Ok(Duration::from_secs(3)));
        for bad in ["2.9s", "61m", "x"] {
            assert!(parse_trial(bad).unwrap_err().contains("--trial"), "{bad}");
        }
        assert_eq!(parse_ramp("0s"), Ok(Duration::ZERO));
        assert!(parse_ramp("61s").unwrap_err().contains("--ramp is from 0s to 60s"));
        assert!(parse_settle("61s").unwrap_err().contains("--settle is from 0s to 60s"));
        assert_eq!(parse_blocks("auto"), Ok(Blocks::Adaptive));
        assert_eq!(parse_blocks("8"), Ok(Blocks::Fixed(8)));
        for bad in ["4", "7", "102", "-6", "six", ""] {
            assert!(parse_blocks(bad).unwrap_err().contains("even number from 6 to 100"), "{bad}");
        }
        assert!(parse_metric("speed").unwrap_err().contains("cpu_per_gib"));
    }

    proptest! {
        #[test]
        fn a_margin_is_written_as_it_was_read(p in 0.5..=50.0_f64, digits in 0_usize..17) {
            let text = format!("{p:.digits$}%");
            if let Ok(share) = parse_margin(&text) {
                let written = percentage(share).unwrap();
                prop_assert_eq!(parse_margin(&written), Ok(share), "{}", written);
                prop_assert!(digits > 10 || written.len() <= text.len(), "{} for {}", written, text);
            }
        }

        #[test]
        fn any_text_is_survived(text in ".*") {
            let _ = (parse_metric(&text), parse_margin(&text), parse_trial(&text), parse_blocks(&text));
        }
    }
}
