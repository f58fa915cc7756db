//! The whole experiment in words before it starts: `--plan`, and what the screen shows before Enter.

use std::time::Duration;

use super::asked::Designed;
use super::estimate::{looks_of, rounds, trial_time, what_will_happen};
use super::trial::{PlannedTrial, Role};
use super::weak::Weak;

/// The plan, a line an entry: what will happen, what is to be known of it, and every trial with the time at which it starts
/// if none has to be repeated.
#[must_use]
pub fn lines(designed: &Designed, weak: &[Weak], schedule: &[PlannedTrial]) -> Vec<String> {
    let design = &designed.design;
    let mut lines = what_will_happen(design);
    lines.extend(designed.merged.iter().map(|same| format!("note: {same}")));
    if let Some(refusal) = designed.refusal() {
        lines.push(format!("greyed: {refusal}"));
    } else if let Some(why) = &designed.greyed {
        lines.push(format!("control: these cells should make no difference: {why}"));
    }
    lines.extend(weak.iter().map(|w| format!("weak: {}", w.text)));
    let looks = looks_of(design);
    let mut at = Duration::ZERO;
    if let (fewest @ 1.., most) = rounds(design) {
        lines.push(format!(
            "  {}       {fewest} to {most} rounds of the workload, until it is steady",
            clock(at)
        ));
        at = trial_time(design).saturating_mul(u32::try_from(fewest).unwrap_or(u32::MAX));
    }
    let mut block = None;
    for (i, trial) in schedule.iter().enumerate() {
        if trial.block.is_some() && trial.block != block {
            block = trial.block;
            lines.push(format!("block {}", block.unwrap_or_default()));
        }
        let cell = trial.cell.and_then(|c| design.cells.get(c)).map(|c| c.name.as_str());
        lines.push(format!("  {}  {:>3}  {}", clock(at), trial.number, words(trial.role, cell)));
        at = at.saturating_add(trial_time(design));
        let ends = block.is_some() && schedule.get(i + 1).is_none_or(|next| next.block != block);
        let done = block.and_then(|b| usize::try_from(b).ok());
        if ends && trial.block.is_some() && done.is_some_and(|done| looks.contains(&done)) {
            let last = looks.last() == done.as_ref();
            lines.push(if last { "look, the last" } else { "look: it may end here" }.to_owned());
        }
    }
    lines
}

fn words(role: Role, cell: Option<&str>) -> String {
    let cell = cell.unwrap_or("the settings that were found");
    match role {
        Role::Trial => cell.to_owned(),
        Role::LeadIn => format!("{cell}, lead-in (discarded)"),
        Role::BaselineBefore => format!("{cell}, before"),
        Role::BaselineAfter => format!("{cell}, after"),
        Role::Precondition => format!("{cell}, until it is steady"),
    }
}

/// `0:00`, `1:02:03`.
fn clock(at: Duration) -> String {
    let s = at.as_secs();
    let (h, m, s) = (s / 3600, s / 60 % 60, s % 60);
    if h > 0 { format!("{h}:{m:02}:{s:02}") } else { format!("{m:>2}:{s:02}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::asked::{Asked, design};
    use crate::experiment::cells::tests::queue;
    use crate::experiment::schedule::{cells_of, order_of, whole};
    use crate::experiment::weak::Weakness;

    #[test]
    fn every_trial_has_its_time_and_every_look_its_place() {
        let factors = vec!["read_ahead_kb=4,4096".to_owned()];
        let asked = Asked { factors, control: true, ..Asked::new("vdb", "seqread-1m", 42) };
        let designed = design(&asked, &queue()).unwrap();
        let weak = [Weak { weakness: Weakness::OneThread, text: "one thread: ...".to_owned() }];
        let lines = lines(&designed, &weak, &whole(&designed.design));
        let at =
            |text: &str| lines.iter().position(|l| l == text).unwrap_or_else(|| panic!("{text}: {lines:#?}"));
        assert!(lines.iter().any(|l| l.starts_with("control: ") && l.contains("direct")));
        at("weak: one thread: ...");
        at("   0:00    1  the settings that were found, before");
        // Three trials of 11 s before.
        let first = at("block 1");
        let names = cells_of(order_of(42, 1)).map(|c| ["read_ahead_kb=4", "read_ahead_kb=4096"][c]);
        assert_eq!(lines[first + 1], format!("   0:33    4  {}, lead-in (discarded)", names[0]));
        assert_eq!(lines[first + 3], format!("   0:55    6  {}", names[1]));
        assert_eq!(lines[at("block 7") - 1], "look: it may end here");
        assert_eq!(lines.iter().filter(|l| l.starts_with("look")).count(), 4);
        assert_eq!(lines.last().unwrap(), "  19:15  106  the settings that were found, after");
        assert_eq!(lines[at("look, the last") + 1], "  18:53  104  the settings that were found, after");
        assert_eq!(clock(Duration::from_secs(3723)), "1:02:03");
    }

    #[test]
    fn what_is_greyed_and_what_is_the_same_is_said() {
        let factors = vec!["read_ahead_kb=5,4".to_owned(), "wbt_lat_usec=0,2000".to_owned()];
        let asked = Asked { factors, together: true, ..Asked::new("vdb", "seqread-1m", 42) };
        let lines = lines(&design(&asked, &queue()).unwrap(), &[], &[]);
        assert!(lines.iter().any(|l| l.starts_with("note: ") && l.contains("same, 4")), "{lines:?}");
        assert!(lines.iter().any(|l| l.starts_with("greyed: ") && l.contains("--control")), "{lines:?}");
    }
}
