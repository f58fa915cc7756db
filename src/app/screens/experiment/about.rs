//! What an experiment asks, and how to read what is shown of it.

use crate::app::dialogs::explain::Explanation;

/// Before it starts, or while its figures are `shown`.
pub(super) fn about(shown: bool, ascii: bool) -> Explanation {
    let paragraphs: &[&str] = if shown { READING } else { ASKING };
    let title = if shown { "How to read this" } else { "Comparing two cells" };
    let in_words = |p: &&str| if ascii { in_ascii(p) } else { (*p).to_owned() };
    Explanation::new(title, paragraphs.iter().map(in_words).collect())
}

const ASKING: &[&str] = &[
    "Does the candidate beat the baseline on this device, under this workload, by a difference that matters (the margin)?",
    "Switch on two levels of a setting: one cell has the one, the other cell the other. Of several settings all vary together. The level that is in force now is the baseline.",
    "Both cells are run again and again in short trials, in blocks of four: baseline, candidate, candidate, baseline, or the other way round, so that a steady drift cancels out. Each block is led in by a trial that is thrown away.",
    "It is judged at a few looks, fixed before, and ends at the first that decides. Looking oftener would find winners where there are none.",
    "All settings are held and go back, however it ends. Enter shows the whole plan; Enter there starts it.",
    "How small a difference can this machine show at all? a plans a calibration: the same cell twice.",
];

const READING: &[&str] = &[
    "The bar is the whole experiment up to its last look; it may end at each mark.",
    "Each line compares one metric: the change of the candidate against the baseline, its interval, and both drawn on one axis. The shaded part is the margin: differences in there do not matter. ├──●──┤ is the interval with the change in it; an arrow says that it goes on beyond the axis.",
    "Interval within the shade: equivalent. All of it beyond 0: faster or slower (of a rate), better or worse. Else neither is sure. Between looks it is grey and decides nothing.",
    "The marks below are the trials in the order of time: ○ baseline, ● candidate, + the settings that were found, · lead-ins, which are thrown away, × what is void and was run again. A row of marks that climbs or falls is a drift.",
    "Order: does a trial depend on what ran before it? green: no. amber: that is not ruled out. red: it does; the sentence says what that means for the verdict.",
    "Void: settings changed by another program, I/O of others, errors, or a sleep of the host spoiled a trial, so its block is run again.",
    "docs/experiments.md and docs/statistics.md say it in full.",
];

/// The marks as they are drawn in characters of ASCII.
fn in_ascii(text: &str) -> String {
    let marks = [("├──●──┤", "[--o--]"), ("○", "o"), ("●", "#"), ("·", "."), ("×", "x")];
    marks.iter().fold(text.to_owned(), |text, (drawn, plain)| text.replace(drawn, plain))
}
