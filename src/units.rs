//! Quantities with their units, and the one formatter.
//!
//! K, M, G, T are powers of 1024 and written KiB, MiB, GiB, TiB, as lsblk and iostat count. A sector is
//! always 512 bytes, whatever the device's logical block (`Documentation/admin-guide/iostats.rst`).

use std::fmt;
use std::time::Duration;

use serde::Serialize;

/// Bytes in a sector of `/proc/diskstats`, `size` and `blockdev --setra`.
pub const SECTOR_BYTES: u64 = 512;

/// An amount of data, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A number of 512-byte sectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Sectors(pub u64);

/// An amount of data in KiB, the unit of `read_ahead_kb` and `max_sectors_kb`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Kib(pub u64);

/// A length of time or an instant of a named clock, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Sectors {
    /// The same amount in bytes; saturates, since a hostile `size` must not wrap to something small.
    #[must_use]
    pub const fn bytes(self) -> Bytes {
        Bytes(self.0.saturating_mul(SECTOR_BYTES))
    }
}

impl Kib {
    /// The same amount in 512-byte sectors, the unit of `blockdev --getra`.
    #[must_use]
    pub const fn sectors(self) -> Sectors {
        Sectors(self.0.saturating_mul(2))
    }
}

impl Nanos {
    /// One second.
    pub const SECOND: Nanos = Nanos(1_000_000_000);

    /// As seconds; exact to the nanosecond for the first hundred days.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // a rate or a label is made of it, never an identity
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// As milliseconds.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // as above
    pub fn millis(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// From this instant back to `earlier`; zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }

    /// As a standard duration.
    #[must_use]
    pub const fn duration(self) -> Duration {
        Duration::from_nanos(self.0)
    }
}

impl From<Duration> for Nanos {
    fn from(d: Duration) -> Self {
        Nanos(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Bytes {
    /// `512 B`, `4.0 KiB`, `1.7 TiB`: three significant digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[allow(clippy::cast_precision_loss)] // three digits are shown
        let (value, unit) = scaled(self.0 as f64);
        if unit.is_empty() {
            write!(f, "{} B", self.0)
        } else {
            write!(f, "{} {unit}iB", three_digits(value))
        }
    }
}

impl Bytes {
    /// The whole number of bytes nearest to a mean; saturates.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturating is what is wanted
    pub fn rounded(v: f64) -> Bytes {
        Bytes(v.round() as u64)
    }

    /// `512B`, `4.0K`, `1.7T`: for a column that says its unit in the head.
    #[must_use]
    pub fn short(self) -> String {
        #[allow(clippy::cast_precision_loss)] // three digits are shown
        let (value, unit) = scaled(self.0 as f64);
        if unit.is_empty() { format!("{}B", self.0) } else { format!("{}{unit}", three_digits(value)) }
    }
}

/// Bytes per second in MiB/s with three significant digits, without the unit.
#[must_use]
pub fn mib_per_s(bytes_per_s: f64) -> String {
    three_digits(bytes_per_s / 1_048_576.0)
}

/// A length of time with the unit that keeps it short: `850 ns`, `11.2 us`, `1.50 ms`, `2.00 s`.
#[must_use]
pub fn latency(t: Nanos) -> String {
    #[allow(clippy::cast_precision_loss)] // three digits are shown
    let ns = t.0 as f64;
    if t.0 < 1_000 {
        format!("{} ns", t.0)
    } else if ns < 999_500.0 {
        format!("{} us", three_digits(ns / 1e3))
    } else if ns < 999_500_000.0 {
        format!("{} ms", three_digits(ns / 1e6))
    } else {
        format!("{} s", three_digits(ns / 1e9))
    }
}

/// Three significant digits, never in exponent form: `0.11`, `4.00`, `33.0`, `8421`. Zero is `0`.
#[must_use]
pub fn three_digits(v: f64) -> String {
    let a = v.abs();
    if !v.is_finite() {
        "-".to_owned()
    } else if a < 0.005 {
        "0".to_owned()
    } else if a < 9.995 {
        format!("{v:.2}")
    } else if a < 99.95 {
        format!("{v:.1}")
    } else {
        format!("{v:.0}")
    }
}

/// A rate in a narrow column: `0`, `0.50`, `8421`, `84.2k`, `1.20M` (thousands, as iostat -h counts events).
#[must_use]
pub fn events(v: f64) -> String {
    if v >= 999_950.0 {
        format!("{}M", three_digits(v / 1e6))
    } else if v >= 99_999.5 {
        format!("{}k", three_digits(v / 1e3))
    } else if v >= 99.5 || v.fract().abs() < f64::EPSILON {
        format!("{v:.0}")
    } else {
        three_digits(v)
    }
}

/// A share: `34%`, without decimals.
#[must_use]
pub fn percent(v: f64) -> String {
    if v.is_finite() { format!("{v:.0}%") } else { "-".to_owned() }
}

/// A whole number as it is.
#[must_use]
pub fn whole(v: f64) -> String {
    if v.is_finite() { format!("{v:.0}") } else { "-".to_owned() }
}

fn scaled(mut v: f64) -> (f64, &'static str) {
    for unit in ["", "K", "M", "G", "T", "P"] {
        if v < 1023.5 {
            return (v, unit);
        }
        v /= 1024.0;
    }
    (v, "E")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_keep_three_digits_at_every_border() {
        let cases = [
            (0, "0 B"),
            (512, "512 B"),
            (1023, "1023 B"),
            (1024, "1.00 KiB"),
            (4096, "4.00 KiB"),
            (10_240, "10.0 KiB"),
            (1_048_576, "1.00 MiB"),
            (1_048_575, "1.00 MiB"),
            (1_900_000_000_000, "1.73 TiB"),
            (u64::MAX, "16.0 EiB"),
        ];
        for (n, text) in cases {
            assert_eq!(Bytes(n).to_string(), text, "{n}");
        }
        assert_eq!(Bytes(4096).short(), "4.00K");
    }

    #[test]
    fn latency_changes_unit_before_it_needs_a_fourth_digit() {
        assert_eq!(latency(Nanos(850)), "850 ns");
        assert_eq!(latency(Nanos(11_240)), "11.2 us");
        assert_eq!(latency(Nanos(999_499)), "999 us");
        assert_eq!(latency(Nanos(999_500)), "1.00 ms");
        assert_eq!(latency(Nanos(2_000_000_000)), "2.00 s");
    }

    #[test]
    fn unknown_is_a_dash_and_zero_is_zero() {
        assert_eq!(three_digits(f64::NAN), "-");
        assert_eq!(three_digits(f64::INFINITY), "-");
        assert_eq!(three_digits(0.0), "0");
        assert_eq!(events(0.0), "0");
        assert_eq!(events(8421.3), "8421");
        assert_eq!(events(0.5), "0.50");
        assert_eq!(events(123_456.0), "123k");
    }

    #[test]
    fn sectors_saturate() {
        assert_eq!(Sectors(u64::MAX).bytes(), Bytes(u64::MAX));
        assert_eq!(Kib(512).sectors(), Sectors(1024));
    }
}
