//! Values as fio and people write them: sizes, times, counts, flags.

use std::fmt;
use std::time::Duration;

use crate::units::{Bytes, Nanos};

/// A flag.
///
/// # Errors
/// What a flag looks like.
pub fn parse_bool(text: &str) -> Result<bool, String> {
    match text {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err("it is true or false (or 1, 0)".to_owned()),
    }
}

/// A whole number.
///
/// # Errors
/// That it is none, or too large for its type.
pub fn parse_count<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err("it is a whole number".to_owned());
    }
    text.parse().map_err(|_| "the number is too large".to_owned())
}

/// `value`, if it is within both ends.
///
/// # Errors
/// What the ends are.
pub fn between<T: Copy + PartialOrd + fmt::Display>(value: T, least: T, most: T) -> Result<T, String> {
    if value < least || value > most { Err(format!("it is from {least} to {most}")) } else { Ok(value) }
}

/// A size: bytes, or with a unit of powers of 1024 in either spelling (`4k`, `1M`, `64KiB`, `1GiB`, `2t`).
///
/// # Errors
/// What a size looks like.
pub fn parse_size(text: &str) -> Result<Bytes, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kib" => 10,
        "m" | "mib" => 20,
        "g" | "gib" => 30,
        "t" | "tib" => 40,
        _ => 64,
    };
    if number.is_empty() || shift == 64 {
        return Err(
            "a size is a whole number of bytes, or with k, m, g, KiB, MiB or GiB (powers of 1024)".to_owned()
        );
    }
    number
        .parse::<u64>()
        .ok()
        .and_then(|n| n.checked_mul(1 << shift))
        .map(Bytes)
        .ok_or_else(|| "the size is too large".to_owned())
}

/// A time: seconds, or with `ms`, `s` or `m`; a decimal fraction is taken (`1.5s`).
///
/// # Errors
/// What a time looks like.
pub fn parse_time(text: &str) -> Result<Duration, String> {
    let form = || "a time is a number with ms, s or m, as 500ms, 10s, 2m".to_owned();
    let end = text.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
    let (number, unit) = text.split_at(end);
    let unit_ns: u128 = match unit {
        "ms" => 1_000_000,
        "" | "s" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        _ => return Err(form()),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || fraction.contains('.') || whole.len() > 12 || fraction.len() > 9 {
        return Err(form());
    }
    let whole: u128 = whole.parse().map_err(|_| form())?;
    let mut ns = whole * unit_ns;
    if !fraction.is_empty() {
        let digits = u32::try_from(fraction.len()).map_err(|_| form())?;
        let part: u128 = fraction.parse().map_err(|_| form())?;
        ns += part * unit_ns / 10u128.pow(digits);
    }
    u64::try_from(ns).map(Duration::from_nanos).map_err(|_| "the time is too long".to_owned())
}

/// Latencies in ms, a list with commas (`1,10,100`), at most sixteen; in ascending order.
///
/// # Errors
/// What such a list looks like.
pub fn parse_limits(text: &str) -> Result<Vec<Nanos>, String> {
    let one = |t: &str| parse_time(&format!("{}ms", t.trim())).map(Nanos::from);
    let mut limits = text
        .split(',')
        .map(one)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|_| "it is a list of milliseconds, as 1,10,100".to_owned())?;
    if limits.len() > 16 || limits.contains(&Nanos(0)) {
        return Err("it is a list of at most sixteen times above 0".to_owned());
    }
    limits.sort();
    limits.dedup();
    Ok(limits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_text_is_survived(s in ".*") {
            let _ = (parse_size(&s), parse_time(&s), parse_bool(&s), parse_count::<u32>(&s));
        }

        #[test]
        fn sizes_are_powers_of_1024(n in 0u64..1 << 20, unit in 0usize..4) {
            let spellings = [["", "b"], ["k", "KiB"], ["m", "MiB"], ["G", "GiB"]];
            for s in spellings[unit] {
                prop_assert_eq!(parse_size(&format!("{n}{s}")), Ok(Bytes(n * 1024u64.pow(u32::try_from(unit).unwrap()))));
            }
        }

        #[test]
        fn times_are_exact(ms in 0u64..10_000_000) {
            let t = Duration::from_millis(ms);
            prop_assert_eq!(parse_time(&format!("{ms}ms")), Ok(t));
            prop_assert_eq!(parse_time(&format!("{}.{:03}s", ms / 1000, ms % 1000)), Ok(t));
            prop_assert_eq!(parse_time(&format!("{}.{:03}", ms / 1000, ms % 1000)), Ok(t));
            prop_assert_eq!(parse_time(&format!("{ms}m")), Ok(Duration::from_secs(ms * 60)));
        }
    }
}
