//! Times of a record: decimal seconds, kept to the nanosecond. A float would lose that after a hundred days of uptime.

use serde_json::value::RawValue;

use crate::units::Nanos;

const DIGITS: usize = 9;

/// The number as it is written.
///
/// # Errors
/// There is none: the text is always a JSON number.
pub(super) fn written(t: Nanos) -> serde_json::Result<Box<RawValue>> {
    RawValue::from_string(format!("{}.{:09}", t.0 / Nanos::SECOND.0, t.0 % Nanos::SECOND.0))
}

/// From the text of a JSON number; digits behind the ninth are dropped. None if it is not a number, negative, or more
/// than 64 bits of nanoseconds.
pub(super) fn read(number: &str) -> Option<Nanos> {
    if number.contains(['e', 'E']) {
        return from_float(number.parse().ok()?);
    }
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = &fraction.as_bytes()[..fraction.len().min(DIGITS)];
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let mut nanos = digits.iter().fold(0, |n, d| n * 10 + u64::from(d - b'0'));
    for _ in digits.len()..DIGITS {
        nanos *= 10;
    }
    whole.parse::<u64>().ok()?.checked_mul(Nanos::SECOND.0)?.checked_add(nanos).map(Nanos)
}

/// What other programs may write; as exact as they had it.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)] // the range is checked
fn from_float(seconds: f64) -> Option<Nanos> {
    let nanos = (seconds * 1e9).round();
    (0.0..u64::MAX as f64).contains(&nanos).then_some(Nanos(nanos as u64))
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::units::Nanos;

    #[test]
    fn every_spelling_of_a_number_is_read() {
        let cases = [
            ("0", Some(0)),
            ("12", Some(12_000_000_000)),
            ("12.5", Some(12_500_000_000)),
            ("12.000000001", Some(12_000_000_001)),
            ("12.0000000019", Some(12_000_000_001)),
            ("1.25e1", Some(12_500_000_000)),
            ("18446744073.709551615", Some(u64::MAX)),
            ("18446744073.709551616", None),
            ("-1", None),
            ("-1e3", None),
            ("1e300", None),
            ("null", None),
            ("\"1\"", None),
        ];
        for (text, nanos) in cases {
            assert_eq!(read(text), nanos.map(Nanos), "{text}");
        }
    }
}
