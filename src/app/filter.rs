//! The filter of the list: words that a row must have, all of them.
//!
//! A word is looked for in the name, kind, model, scheduler, users, device mapper's name and serial number. `sched:bfq`
//! looks in one column, `sched=bfq` wants all of it, and `busy>50`, `size>=1T`, `await<1ms` compare its numbers.

use super::columns::{self, Cell, Column, ColumnId, Measure, Subject};
use crate::sys::device::Usage;

/// Longest text of a filter, in characters.
const LONGEST: usize = 80;

/// A filter, taken apart.
#[derive(Debug, Default)]
pub struct Filter {
    terms: Vec<Term>,
    /// What could not be understood, in words. Such terms are looked for as text.
    pub trouble: Option<String>,
}

#[derive(Debug, PartialEq)]
enum Term {
    Word(Text),
    Has(ColumnId, Text),
    Is(ColumnId, Text),
    Compare(ColumnId, Relation, f64),
    /// As shown: a size of 1.73T is a rounded one.
    Shown(ColumnId, String),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Relation {
    Less,
    AtMost,
    More,
    AtLeast,
}

/// A text to be found in any case, without a copy of what it is looked for in.
#[derive(Debug, PartialEq)]
struct Text {
    lower: String,
}

impl Filter {
    /// Takes a filter's text apart. Every text is a filter.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut filter = Self::default();
        for word in text.split_whitespace() {
            match term(word) {
                Ok(term) => filter.terms.push(term),
                Err(why) => {
                    filter.trouble.get_or_insert(why);
                    filter.terms.push(Term::Word(Text::new(word)));
                }
            }
        }
        filter
    }

    /// Whether it lets everything through.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether a row has all that is asked for.
    #[must_use]
    pub fn matches(&self, of: Subject<'_>) -> bool {
        self.terms.iter().all(|t| t.matches(of))
    }
}

impl Term {
    fn matches(&self, of: Subject<'_>) -> bool {
        let shown = |id: ColumnId, holds: &dyn Fn(&str) -> bool| {
            let column = id.column();
            match column.value(of) {
                Cell::Unknown | Cell::Absent => false,
                cell => holds(&column.shown(cell)),
            }
        };
        match self {
            Term::Word(text) => has_word(of, text),
            Term::Has(id, text) => shown(*id, &|s| text.is_in(s)),
            Term::Is(id, text) => shown(*id, &|s| text.is(s)),
            Term::Shown(id, text) => shown(*id, &|s| s == text),
            Term::Compare(id, relation, limit) => match id.column().value(of) {
                Cell::Number(v) => match relation {
                    Relation::Less => v < *limit,
                    Relation::AtMost => v <= *limit,
                    Relation::More => v > *limit,
                    Relation::AtLeast => v >= *limit,
                },
                _ => false,
            },
        }
    }
}

/// The columns in which a plain word is looked for.
const SEARCHED: &[ColumnId] = &[
    ColumnId::Name,
    ColumnId::Kind,
    ColumnId::Model,
    ColumnId::Scheduler,
    ColumnId::DmName,
    ColumnId::Serial,
];

fn has_word(of: Subject<'_>, text: &Text) -> bool {
    let users: &[Usage] = match of {
        Subject::Device(e) => &e.device.used_by,
        Subject::Partition(_, p) => &p.used_by,
    };
    let has = |id: &ColumnId| matches!(id.column().value(of), Cell::Text(t) if text.is_in(&t));
    SEARCHED.iter().any(has) || users.iter().any(|u| text.is_in(&u.what))
}

impl Text {
    fn new(text: &str) -> Self {
        Self { lower: text.to_lowercase() }
    }

    fn is_in(&self, hay: &str) -> bool {
        let needle = self.lower.as_bytes();
        if self.lower.is_ascii() {
            return needle.is_empty()
                || hay.as_bytes().windows(needle.len()).any(|w| w.eq_ignore_ascii_case(needle));
        }
        hay.char_indices().any(|(at, _)| starts_with(&hay[at..], &self.lower))
    }

    fn is(&self, hay: &str) -> bool {
        hay.chars().flat_map(char::to_lowercase).eq(self.lower.chars())
    }
}

/// Whether a text begins with another that is in lower case, in any case.
fn starts_with(hay: &str, lower: &str) -> bool {
    let mut letters = hay.chars().flat_map(char::to_lowercase);
    lower.chars().all(|c| letters.next() == Some(c))
}

/// One word of the filter.
fn term(word: &str) -> Result<Term, String> {
    let Some(at) = word.find([':', '<', '>', '=']) else { return Ok(Term::Word(Text::new(word))) };
    let (name, rest) = word.split_at(at);
    let column = columns::named(name).ok_or_else(|| format!("no column {name:?}; looking for the text"))?;
    let (relation, value) = match (rest.as_bytes(), &rest[1..]) {
        ([b':', ..], value) => return Ok(Term::Has(column.id, Text::new(value))),
        ([b'=', ..], value) if !column.numeric() => return Ok(Term::Is(column.id, Text::new(value))),
        ([b'=', ..], value) => {
            return number(column, value).map(|v| Term::Shown(column.id, column.measure.shown(v)));
        }
        ([b'<', b'=', ..], _) => (Relation::AtMost, &rest[2..]),
        ([b'>', b'=', ..], _) => (Relation::AtLeast, &rest[2..]),
        ([b'<', ..], value) => (Relation::Less, value),
        (_, value) => (Relation::More, value),
    };
    number(column, value).map(|v| Term::Compare(column.id, relation, v))
}

/// A number in the column's measure; a unit may follow it.
fn number(column: &Column, text: &str) -> Result<f64, String> {
    if !column.numeric() {
        return Err(format!("{} has no numbers; looking for the text", column.head));
    }
    let bad = || {
        let unit = column.measure.unit();
        let of = if unit.is_empty() { String::new() } else { format!(" of {unit}") };
        format!("{text:?} is no number{of}; looking for the text")
    };
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (value, unit) = text.split_at(digits);
    let value: f64 = value.parse().ok().filter(|v: &f64| v.is_finite()).ok_or_else(bad)?;
    let factor = factor(column.measure, &unit.to_ascii_lowercase()).ok_or_else(bad)?;
    Ok(value * factor)
}

/// What a unit makes of a number in a measure; None if it does not go with it.
fn factor(measure: Measure, unit: &str) -> Option<f64> {
    // K M G T P, with or without iB or B behind.
    let binary = |unit: &str| {
        let prefix = unit.strip_suffix("ib").or_else(|| unit.strip_suffix('b')).unwrap_or(unit);
        let power = ["", "k", "m", "g", "t", "p"].iter().position(|p| *p == prefix)?;
        Some(1024_f64.powi(i32::try_from(power).ok()?))
    };
    match measure {
        Measure::Bytes => binary(unit),
        Measure::Kib if unit.is_empty() => Some(1.0),
        Measure::Kib => binary(unit).map(|f| f / 1024.0),
        Measure::MibPerSecond if unit.is_empty() => Some(1_048_576.0),
        Measure::MibPerSecond => binary(unit.strip_suffix("/s").unwrap_or(unit)),
        Measure::PerSecond => match unit {
            "" => Some(1.0),
            "k" => Some(1e3),
            "m" => Some(1e6),
            _ => None,
        },
        Measure::Millis => match unit {
            "" | "ms" => Some(1.0),
            "us" => Some(1e-3),
            "s" => Some(1e3),
            _ => None,
        },
        Measure::Percent => matches!(unit, "" | "%").then_some(1.0),
        Measure::Whole | Measure::Mean => unit.is_empty().then_some(1.0),
        Measure::Text => None,
    }
}

/// Appends a typed character, if it is one that a filter can have.
pub fn type_char(text: &mut String, c: char) {
    let plain = !c.is_control() && crate::sys::attr::clean(c.encode_utf8(&mut [0; 4]).as_bytes()).contains(c);
    if plain && text.chars().count() < LONGEST {
        text.push(c);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn compared(text: &str) -> Option<f64> {
        match term(text) {
            Ok(Term::Compare(_, _, v)) => Some(v),
            _ => None,
        }
    }

    #[test]
    fn numbers_have_the_units_of_their_column() {
        let cases = [
            ("size>1T", 1_099_511_627_776.0),
            ("size>1.5GiB", 1_610_612_736.0),
            ("size<512", 512.0),
            ("mib/s>100", 104_857_600.0),
            ("MiB/s>=1K", 1024.0),
            ("rMiB/s>1g/s", 1_073_741_824.0),
            ("ra>128", 128.0),
            ("ra>1M", 1024.0),
            ("r/s>8k", 8000.0),
            ("await<1", 1.0),
            ("await<=200us", 0.2),
            ("busy>50", 50.0),
            ("busy>50%", 50.0),
            ("NRQ>256", 256.0),
            ("aqu-sz>0.5", 0.5),
        ];
        for (text, value) in cases {
            assert!(compared(text).is_some_and(|v| (v - value).abs() < 1e-9), "{text}: {:?}", term(text));
        }
    }

    #[test]
    fn what_is_not_understood_is_said_and_looked_for_as_text() {
        for (text, why) in [
            ("speed>5", "no column \"speed\"; looking for the text"),
            ("busy>much", "\"much\" is no number of percent; looking for the text"),
            ("busy>", "\"\" is no number of percent; looking for the text"),
            ("nrq>3M", "\"3M\" is no number; looking for the text"),
            ("size>1e400", "\"1e400\" is no number of bytes; looking for the text"),
            ("size>1.2.3", "\"1.2.3\" is no number of bytes; looking for the text"),
            ("model>3", "MODEL has no numbers; looking for the text"),
            ("8:0", "no column \"8\"; looking for the text"),
        ] {
            let filter = Filter::parse(text);
            assert_eq!(filter.trouble.as_deref(), Some(why), "{text}");
            assert_eq!(filter.terms, [Term::Word(Text::new(text))]);
        }
        assert!(Filter::parse("sched:bfq kind:nvme sda busy>=1 kind=hdd").trouble.is_none());
    }

    #[test]
    fn letters_match_in_any_case_beyond_ascii_too() {
        assert!(Text::new("NVMe").is_in("example nvme 2TB"));
        assert!(Text::new("GRÖSSE").is_in("die größse") == "die größse".to_lowercase().contains("grösse"));
        assert!(Text::new("ÄRGER").is_in("viel Ärger"));
        assert!(!Text::new("ä").is_in("a"));
        assert!(Text::new("").is_in(""));
    }

    proptest! {
        #[test]
        fn looking_without_a_copy_finds_what_a_copy_finds(hay in "[a-cA-CäÄß ]{0,12}", needle in "[a-cA-CäÄß]{0,3}") {
            prop_assert_eq!(Text::new(&needle).is_in(&hay), hay.to_lowercase().contains(&needle.to_lowercase()));
        }

        #[test]
        fn every_text_is_a_filter(text in "\\PC{0,60}") {
            let _ = Filter::parse(&text);
        }

        #[test]
        fn so_is_every_column_with_anything_behind(
            c in 0usize..32, op in "[:<>=]{1,2}", rest in "[0-9.kKmMgGtTiBs%/é]{0,6}",
        ) {
            let _ = Filter::parse(&format!("{}{op}{rest}", columns::TABLE[c % columns::TABLE.len()].word));
        }
    }
}
