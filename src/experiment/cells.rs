//! From factors to the two cells that are compared: baseline and candidate.

use crate::sys::queue::QueueState;
use crate::tuning::change::Change;
use crate::tuning::{plan, rounding};
use crate::workload::assemble::{AssembleError, assemble};
use crate::workload::job::Job;

use super::design::{Cell, Factor, FactorKind, Workload};

/// Why there are no two cells to compare.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CellsError {
    /// No factor.
    #[error("nothing varies; say what, for example --factor scheduler=none,bfq")]
    NoFactor,
    /// Another number of levels than two.
    #[error("--factor {name} has {levels} levels; two are compared, the first is the baseline")]
    Levels {
        /// The factor.
        name: String,
        /// How many.
        levels: usize,
    },
    /// Factors that are not varied together.
    #[error(
        "{factors} factors make {cells} cells when they are crossed, and two cells are compared; --together varies all of them at once: baseline with the first level of each, candidate with the second"
    )]
    Crossed {
        /// How many factors.
        factors: usize,
        /// How many cells; saturates.
        cells: usize,
    },
    /// One factor twice.
    #[error("--factor {0} is given twice; give each factor once")]
    Twice(String),
    /// A level that this queue does not take.
    #[error("{name}={level}: {why}")]
    Level {
        /// The setting.
        name: String,
        /// Its level.
        level: String,
        /// Why not.
        why: String,
    },
    /// The workload does not take a level, or what is set.
    #[error(transparent)]
    Workload(#[from] AssembleError),
    /// Both cells read back equal.
    #[error("nothing to compare: {0}")]
    Equal(String),
    /// A calibration that varies something.
    #[error("a calibration compares a cell with itself; give --factor {0} one level, or leave it out")]
    Calibration(String),
}

/// The cells: baseline, then candidate. One factor of two levels, or several that are varied `together`.
///
/// # Errors
/// More or fewer than two cells.
pub fn cells(factors: &[Factor], together: bool) -> Result<Vec<Cell>, CellsError> {
    for (i, factor) in factors.iter().enumerate() {
        if factors[..i].iter().any(|f| f.name == factor.name) {
            return Err(CellsError::Twice(factor.name.clone()));
        }
    }
    if factors.len() > 1 && !together {
        let cells = factors.iter().fold(1_usize, |n, f| n.saturating_mul(f.levels.len()));
        return Err(CellsError::Crossed { factors: factors.len(), cells });
    }
    if let Some(f) = factors.iter().find(|f| f.levels.len() != 2) {
        return Err(CellsError::Levels { name: f.name.clone(), levels: f.levels.len() });
    }
    if factors.is_empty() {
        return Err(CellsError::NoFactor);
    }
    let cell = |level: usize| {
        let levels: Vec<String> = factors.iter().filter_map(|f| f.levels.get(level).cloned()).collect();
        let names: Vec<String> =
            factors.iter().zip(&levels).map(|(f, level)| named(&f.name, level)).collect();
        Cell { name: names.join(" + "), levels }
    };
    Ok(vec![cell(0), cell(1)])
}

/// A scheduler says by its own name what it is; `128` does not.
fn named(factor: &str, level: &str) -> String {
    match factor {
        "scheduler" => level.to_owned(),
        _ => format!("{}={level}", factor.trim_start_matches("iosched/")),
    }
}

/// The same cell twice, to learn how quiet the machine is: the settings that were found, with the one level of each factor.
///
/// # Errors
/// A factor of several levels, or one that is given twice.
pub fn calibration(factors: &[Factor]) -> Result<Vec<Cell>, CellsError> {
    if let Some(f) = factors.iter().find(|f| f.levels.len() != 1) {
        return Err(CellsError::Calibration(f.name.clone()));
    }
    for (i, factor) in factors.iter().enumerate() {
        if factors[..i].iter().any(|f| f.name == factor.name) {
            return Err(CellsError::Twice(factor.name.clone()));
        }
    }
    let levels: Vec<String> = factors.iter().map(|f| f.levels[0].clone()).collect();
    Ok(["A", "B"].map(|name| Cell { name: name.to_owned(), levels: levels.clone() }).to_vec())
}

/// The settings of a cell, as changes of the queue.
#[must_use]
pub fn changes(factors: &[Factor], cell: &Cell) -> Vec<Change> {
    let of = |kind| move |(f, _): &(&Factor, &String)| f.kind == kind;
    let settings = factors.iter().zip(&cell.levels).filter(of(FactorKind::Setting));
    settings.map(|(f, level)| Change { name: f.name.clone(), requested: level.clone() }).collect()
}

/// What a cell sets of the workload, behind what is set for all.
#[must_use]
pub fn assignments(factors: &[Factor], cell: &Cell, workload: &Workload) -> Vec<String> {
    let keys = factors.iter().zip(&cell.levels).filter(|(f, _)| f.kind == FactorKind::Workload);
    workload.set.iter().cloned().chain(keys.map(|(f, level)| format!("{}={level}", f.name))).collect()
}

/// The jobs of a cell, with the preset's own times.
///
/// # Errors
/// What the workload does not take.
pub fn jobs(factors: &[Factor], cell: &Cell, workload: &Workload) -> Result<Vec<Job>, CellsError> {
    Ok(assemble(&workload.preset, assignments(factors, cell, workload))?)
}

/// Judges every cell against the queue and the workload, and tells which factors read back equal in both: they are
/// sentences to be said. Of a calibration only the first is asked.
///
/// # Errors
/// A level that the queue or the workload does not take; cells that do not differ.
pub fn judge(
    factors: &[Factor],
    cells: &[Cell],
    workload: &Workload,
    state: &QueueState,
) -> Result<Vec<String>, CellsError> {
    for cell in cells {
        let changes = changes(factors, cell);
        if let Some((name, why)) = plan::refusals(&changes, state).into_iter().next() {
            let level = changes.iter().find(|c| c.name == name).map(|c| c.requested.clone());
            return Err(CellsError::Level {
                why: for_stacked(&name, why, state),
                name,
                level: level.unwrap_or_default(),
            });
        }
        jobs(factors, cell, workload)?;
    }
    let [a, b, ..] = cells else { return Ok(Vec::new()) };
    let mut merged = Vec::new();
    for (i, factor) in factors.iter().enumerate() {
        let (Some(x), Some(y)) = (a.levels.get(i), b.levels.get(i)) else { continue };
        if let Some(same) = equal(factor, (x, y), workload, state) {
            merged.push(same);
        }
    }
    if merged.len() == factors.len() { Err(CellsError::Equal(merged.join("; "))) } else { Ok(merged) }
}

/// What the kernel leaves out for devices that pass requests on to others.
fn for_stacked(name: &str, why: String, state: &QueueState) -> String {
    let of_requests = matches!(name, "scheduler" | "nr_requests" | "wbt_lat_usec" | "rq_affinity");
    if of_requests && !state.attributes.contains_key(name) {
        format!("{why}: it passes I/O on to the devices it is built on, and they have it")
    } else {
        why
    }
}

/// That two levels come to the same, in words; None if they differ, as far as that can be told before.
fn equal(
    factor: &Factor,
    (a, b): (&String, &String),
    workload: &Workload,
    state: &QueueState,
) -> Option<String> {
    let name = &factor.name;
    match factor.kind {
        FactorKind::Setting => {
            let read = |level: &String| {
                rounding::expected(&Change { name: name.clone(), requested: level.clone() }, state)
            };
            let (x, y) = (read(a), read(b));
            (x == y).then(|| format!("{name}={a} and {name}={b} read back as the same, {x}"))
        }
        FactorKind::Workload => {
            let one = std::slice::from_ref(factor);
            let with = |level: &String| {
                let cell = Cell { name: String::new(), levels: vec![level.clone()] };
                assemble(&workload.preset, assignments(one, &cell, workload))
            };
            match (with(a), with(b)) {
                // A level that only holds together with another factor's is judged with its cell.
                (Ok(x), Ok(y)) => (x == y).then(|| format!("{name}={a} and {name}={b} are the same")),
                _ => None,
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::experiment::factor;
    use crate::sys::queue::Attribute;

    /// A queue as a virtio disk has it.
    pub(in crate::experiment) fn queue() -> QueueState {
        let rows = [
            ("scheduler", "[none] mq-deadline kyber bfq", true),
            ("rotational", "0", true),
            ("read_ahead_kb", "128", true),
            ("nr_requests", "256", true),
            ("max_sectors_kb", "1280", true),
            ("max_hw_sectors_kb", "1280", false),
            ("logical_block_size", "512", false),
            ("wbt_lat_usec", "2000", true),
            ("write_cache", "write back", true),
            ("discard_max_bytes", "1073741824", true),
            ("discard_max_hw_bytes", "1073741824", false),
            ("iostats", "1", true),
        ];
        with(&rows)
    }

    pub(in crate::experiment) fn with(rows: &[(&str, &str, bool)]) -> QueueState {
        let of = |(n, v, writable): &(&str, &str, bool)| {
            ((*n).to_owned(), Attribute { value: Some((*v).to_owned()), writable: *writable })
        };
        QueueState { attributes: rows.iter().map(of).collect() }
    }

    pub(in crate::experiment) fn workload(preset: &str, set: &[&str]) -> Workload {
        Workload { preset: preset.to_owned(), set: set.iter().map(|s| (*s).to_owned()).collect() }
    }

    pub(in crate::experiment) fn factors(texts: &[&str], state: &QueueState) -> Vec<Factor> {
        texts.iter().map(|t| factor::parse(t, state).unwrap()).collect()
    }

    fn said(texts: &[&str], together: bool, w: &Workload, state: &QueueState) -> String {
        let factors = factors(texts, state);
        match cells(&factors, together).and_then(|c| judge(&factors, &c, w, state)) {
            Ok(merged) => format!("ok {}", merged.join("; ")),
            Err(e) => e.to_string(),
        }
    }

    #[test]
    fn the_baseline_has_the_first_level_of_each_factor() {
        let state = queue();
        let f = factors(&["scheduler=none,bfq", "bs=4k,64k"], &state);
        let c = cells(&f, true).unwrap();
        assert_eq!(c.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["none + bs=4k", "bfq + bs=64k"]);
        let one = |text: &str| cells(&factors(&[text], &state), false).unwrap()[1].name.clone();
        for (factor, name) in [
            ("scheduler=none,bfq", "bfq"),
            ("rotational=0,1", "rotational=1"),
            ("direct=0,1", "direct=1"),
            ("iosched/slice_idle=0,8", "slice_idle=8"),
            ("writer.rate=1m,2m", "writer.rate=2m"),
        ] {
            assert_eq!(one(factor), name);
        }
        let bfq = Change { name: "scheduler".to_owned(), requested: "bfq".to_owned() };
        assert_eq!(changes(&f, &c[1]), [bfq]);
        let w = workload("randread-4k", &["bs=8k"]);
        assert_eq!(assignments(&f, &c[1], &w), ["bs=8k", "bs=64k"]);
        assert_eq!(jobs(&f, &c[1], &w).unwrap()[0].bs.0, 65536);
    }

    #[test]
    fn what_makes_no_two_cells_is_refused_with_what_to_do() {
        let w = workload("randread-4k", &[]);
        for (texts, together, part) in [
            (&[][..], false, "nothing varies"),
            (&["scheduler=none,bfq,kyber"], false, "3 levels"),
            (&["scheduler=none"], false, "1 levels"),
            (&["scheduler=none,bfq", "rotational=0,1"], false, "4 cells"),
            (&["scheduler=none,bfq", "rotational=0,1"], false, "--together"),
            (&["bs=4k,8k", "bs=1k,2k"], true, "twice"),
            (&["scheduler=none,cfs!"], false, "cfs!"),
            (&["read_ahead_kb=4,4k"], false, "whole number"),
            (&["logical_block_size=512,4096"], false, "read only"),
            (&["bs=4k,4q"], false, "powers of 1024"),
            (&["slice_idle=0,8"], false, "has no slice_idle"),
            (&["writer.bs=4k,8k"], false, "no job \"writer\""),
        ] {
            let text = said(texts, together, &w, &queue());
            assert!(text.contains(part), "{texts:?}: {text}");
        }
    }

    #[test]
    fn levels_that_come_to_the_same_are_merged_and_said() {
        let w = workload("randread-4k", &[]);
        for texts in [
            ["read_ahead_kb=5,4"],
            ["read_ahead_kb=5,6"],
            ["scheduler=deadline,mq-deadline"],
            ["bs=4k,4KiB"],
            ["max_sectors_kb=1280,99999"],
        ] {
            let text = said(&texts, false, &w, &queue());
            assert!(text.starts_with("nothing to compare: ") && text.contains("same"), "{texts:?}: {text}");
        }
        let together = said(&["read_ahead_kb=5,4", "scheduler=none,bfq"], true, &w, &queue());
        assert!(together.starts_with("ok ") && together.contains("the same, 4"), "{together}");
        assert_eq!(said(&["read_ahead_kb=4,8"], false, &w, &queue()), "ok ");
    }

    #[test]
    fn a_device_without_requests_of_its_own_is_told_where_they_are() {
        let state = with(&[("read_ahead_kb", "128", true)]);
        let text = said(&["scheduler=none,bfq"], false, &workload("randread-4k", &[]), &state);
        assert!(text.contains("has no scheduler") && text.contains("built on"), "{text}");
    }

    #[test]
    fn a_calibration_is_one_cell_twice() {
        let state = queue();
        let c = calibration(&factors(&["scheduler=bfq"], &state)).unwrap();
        assert_eq!((c[0].name.as_str(), c[1].name.as_str()), ("A", "B"));
        assert_eq!(c[0].levels, c[1].levels);
        assert!(calibration(&factors(&["scheduler=bfq,none"], &state)).is_err());
        assert_eq!(calibration(&[]).unwrap().len(), 2);
    }
}
