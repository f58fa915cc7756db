//! Lists and tables of a record, refused once they have more entries than anything real: a line of 64 MiB can name 20
//! million things, and each would take many times its letters in memory.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::MOST_ROWS;

/// Entries of a list within a device: partitions, users, what it is built on.
const MOST_PARTS: usize = 1 << 14;

struct AtMost<T>(usize, PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for AtMost<Vec<T>> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of at most {}", self.0)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        while let Some(one) = list.next_element()? {
            if all.len() == self.0 {
                return Err(A::Error::invalid_length(all.len() + 1, &self));
            }
            all.push(one);
        }
        Ok(all)
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for AtMost<BTreeMap<String, T>> {
    type Value = BTreeMap<String, T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a table of at most {}", self.0)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<Self::Value, A::Error> {
        let mut all = BTreeMap::new();
        while let Some((name, one)) = table.next_entry()? {
            if all.len() == self.0 {
                return Err(A::Error::invalid_length(all.len() + 1, &self));
            }
            all.insert(name, one);
        }
        Ok(all)
    }
}

/// A list within a device.
pub(super) fn parts<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    from.deserialize_seq(AtMost(MOST_PARTS, PhantomData::<Vec<T>>))
}

/// Names of a line.
pub(super) fn names(json: &str) -> Option<Vec<String>> {
    serde_json::Deserializer::from_str(json)
        .deserialize_seq(AtMost(MOST_ROWS, PhantomData::<Vec<String>>))
        .ok()
}

/// Values by name, of a line.
pub(super) fn table<'de, T: Deserialize<'de>>(json: &'de str) -> Option<BTreeMap<String, T>> {
    serde_json::Deserializer::from_str(json)
        .deserialize_map(AtMost(MOST_ROWS, PhantomData::<BTreeMap<String, T>>))
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_more_entries_than_anything_real_is_refused() {
        let list = |n: usize| format!("[{}]", vec!["\"a\""; n].join(","));
        assert_eq!(names(&list(MOST_ROWS)).map(|l| l.len()), Some(MOST_ROWS));
        assert_eq!(names(&list(MOST_ROWS + 1)), None);
        let parts = |n| parts::<_, String>(&mut serde_json::Deserializer::from_str(&list(n))).is_ok();
        assert!(parts(MOST_PARTS) && !parts(MOST_PARTS + 1));
        let entries = |n: usize| (0..n).map(|i| format!("\"{i}\":{i}")).collect::<Vec<_>>().join(",");
        let table = |n| table::<u64>(&format!("{{{}}}", entries(n))).map(|t| t.len());
        assert_eq!((table(MOST_ROWS), table(MOST_ROWS + 1)), (Some(MOST_ROWS), None));
    }
}
