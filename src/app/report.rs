//! What a run shows, going or ended, entry by entry: the screen scrolls by entries, whatever its width.

use crate::config::theme::Role;
use crate::trial::result::TrialResult;
use crate::trial::words;
use crate::units::{Bytes, Nanos, events, latency, mib_per_s, three_digits};
use crate::workload::job::{Job, Rw};
use crate::workload::live::{JobProgress, LivePercentiles, Phase, Progress, SideProgress};
use crate::workload::outcome::KEPT_UP;
use crate::workload::result::{DirectionResult, JobResult, LatencySummary};

use super::entries::{CHART_ROWS, Entry, text};
use super::run::Run;
use super::screens::fields::{round_bytes, sentence};

/// Columns of a rate.
const RATE: usize = 7;
/// Columns of a latency: `9.99 ms` and one apart.
const LATENCY: usize = 8;
/// Longest label: `readers-vs-writer` is cut, `readers write` is not.
const LONGEST_LABEL: usize = 16;
/// Narrower than this the table has fewer percentiles.
const NARROW: u16 = 76;

fn dash() -> String {
    "-".to_owned()
}

/// All of it, for a screen of this width.
#[must_use]
pub fn entries(run: &Run, width: u16) -> Vec<Entry> {
    let asked = || text(Role::Muted, sentence(&run.jobs, &run.place));
    match &run.ended {
        None => going(run, width),
        Some(Ok(result)) => std::iter::once(asked()).chain(ended(run, result, width)).collect(),
        Some(Err(why)) => vec![
            asked(),
            Entry::Blank,
            text(Role::Danger, "the run did not come to an end"),
            text(Role::Text, why.clone()),
        ],
    }
}

/// `read`, or `readers read` where there are several jobs.
fn label(jobs: &[Job], job: &Job, word: &str) -> String {
    if jobs.len() > 1 { format!("{} {word}", job.name) } else { word.to_owned() }
}

fn label_width(labels: impl Iterator<Item = usize>) -> usize {
    labels.max().unwrap_or(0).clamp(5, LONGEST_LABEL)
}

fn going(run: &Run, width: u16) -> Vec<Entry> {
    let mut rows = Vec::new();
    let p = run.progress.as_ref();
    for job in &run.jobs {
        let figures = p.and_then(|p| progress_of(p, job)).cloned().unwrap_or_default();
        let sides = [
            ("read", Role::Read, &figures.read, job.reads()),
            ("write", Role::Write, &figures.write, job.rw.writes() && writes_any(job)),
        ];
        for (word, role, side, done) in sides {
            if done || side.ios > 0 {
                rows.push((label(&run.jobs, job, word), role, live_cells(side, width)));
            }
        }
    }
    if rows.len() > 1 {
        let all = SideProgress {
            iops: p.and_then(|p| p.iops),
            bytes_per_s: p.and_then(|p| p.bytes_per_s),
            ..SideProgress::default()
        };
        let mut cells = live_cells(&all, width);
        cells.truncate(2);
        rows.push(("total".to_owned(), Role::Text, cells));
    }
    let labels = label_width(rows.iter().map(|(l, ..)| l.len()));
    let mut heads = vec![("IOPS", RATE), ("MiB/s", RATE)];
    heads.extend(live_heads(width).iter().map(|(head, _)| (*head, LATENCY)));
    let mut out = vec![Entry::Heads { label: labels, cells: heads }];
    out.extend(rows.into_iter().map(|(label, role, cells)| Entry::Row { width: labels, label, role, cells }));
    let (ios, bytes, errors) = p.map_or((0, Bytes(0), 0), |p| (p.ios, p.bytes, p.errors));
    let cpus = run.kernel.cpus.map_or_else(dash, |c| format!("{:.0}%", c * 100.0));
    let role = if errors > 0 { Role::Danger } else { Role::Text };
    out.push(text(role, format!("measured {ios} I/Os, {bytes}; errors {errors}; CPU {cpus} of one")));
    out.push(text(Role::Muted, sizes(&run.jobs, run.kernel.read_size, run.kernel.write_size)));
    out.extend(run.jobs.iter().map(|job| loop_entry(&run.jobs, job, p.and_then(|p| achieved_live(p, job)))));
    out.push(Entry::Charts(CHART_ROWS));
    out
}

/// Whether a mix has a share of writes at all.
const fn writes_any(job: &Job) -> bool {
    !matches!(job.rw, Rw::Rw | Rw::RandRw) || job.rwmixread < 100
}

type LiveColumn = (&'static str, fn(&LivePercentiles) -> Option<Nanos>);

fn live_heads(width: u16) -> &'static [LiveColumn] {
    const ALL: &[LiveColumn] =
        &[("p50", |l| l.p50), ("p99", |l| l.p99), ("p99.9", |l| l.p99_9), ("p95", |l| l.p95)];
    const WIDE: &[LiveColumn] =
        &[("p50", |l| l.p50), ("p95", |l| l.p95), ("p99", |l| l.p99), ("p99.9", |l| l.p99_9)];
    if width < NARROW { &ALL[..3] } else { WIDE }
}

fn live_cells(side: &SideProgress, width: u16) -> Vec<(String, usize)> {
    let mut cells = vec![
        (side.iops.map_or_else(dash, events), RATE),
        (side.bytes_per_s.map_or_else(dash, mib_per_s), RATE),
    ];
    let shown = |v: Option<Nanos>| (v.map_or_else(dash, latency), LATENCY);
    cells.extend(live_heads(width).iter().map(|(_, of)| shown(of(&side.latency))));
    cells
}

/// A job's figures. Not all jobs run all the time, so they are found by name.
fn progress_of<'a>(p: &'a Progress, job: &Job) -> Option<&'a JobProgress> {
    p.jobs.iter().find(|j| j.name == job.name)
}

/// I/Os per second since measuring began: a rate of late would call every stutter overloaded. None before a second is over.
fn achieved_live(p: &Progress, job: &Job) -> Option<f64> {
    let measured = p.phase == Phase::Measuring && p.elapsed >= Nanos::SECOND;
    let figures = progress_of(p, job).filter(|_| measured)?;
    #[allow(clippy::cast_precision_loss)] // a rate
    Some((figures.read.ios + figures.write.ios) as f64 / p.elapsed.seconds())
}

/// What a latency is the time of: in a closed loop nobody waits who was not served, in an open one everybody counts.
fn loop_entry(jobs: &[Job], job: &Job, achieved: Option<f64>) -> Entry {
    let whose = if jobs.len() > 1 { format!("{}: ", job.name) } else { String::new() };
    let Some(asked) = asked(job) else {
        let in_flight = u64::from(job.depth_in_use()) * u64::from(job.numjobs);
        let text = format!("{whose}closed loop: latency is service time with {in_flight} in flight");
        return self::text(Role::Muted, text);
    };
    // A job that ends at a number of I/Os may end early.
    let overloaded = job.number_ios.is_none() && achieved.is_some_and(|a| a < asked * KEPT_UP);
    let (role, word) = if overloaded { (Role::Danger, ": overloaded") } else { (Role::Muted, "") };
    let achieved = achieved.map_or_else(dash, events);
    let asked = events(asked);
    text(
        role,
        format!(
            "{whose}open loop: {asked} I/Os a second asked, {achieved} achieved{word}; latency is from when each was due"
        ),
    )
}

fn asked(job: &Job) -> Option<f64> {
    job.arrivals_per_s().map(|a| a * f64::from(job.numjobs))
}

/// What the block layer made of the blocks that were asked for.
fn sizes(jobs: &[Job], read: Option<f64>, write: Option<f64>) -> String {
    let shown = |v: Option<f64>| v.map_or_else(dash, |v| Bytes::rounded(v).to_string());
    let mut asked: Vec<String> = jobs.iter().map(|j| round_bytes(j.bs)).collect();
    asked.dedup();
    let request = match (read, write) {
        (Some(_), Some(_)) => format!("{} read, {} write", shown(read), shown(write)),
        (read, write) => shown(read.or(write)),
    };
    format!("request at the device {request}; bs asked for {}", asked.join(", "))
}

type ResultColumn = (&'static str, fn(&LatencySummary) -> Option<Nanos>);

fn result_heads(width: u16) -> &'static [ResultColumn] {
    const WIDE: &[ResultColumn] = &[
        ("mean", mean),
        ("p50", |l| l.p50),
        ("p95", |l| l.p95),
        ("p99", |l| l.p99),
        ("p99.9", |l| l.p99_9),
        ("max", |l| l.max),
    ];
    const FEW: &[ResultColumn] =
        &[("p50", |l| l.p50), ("p99", |l| l.p99), ("p99.9", |l| l.p99_9), ("max", |l| l.max)];
    if width < NARROW { FEW } else { WIDE }
}

fn mean(l: &LatencySummary) -> Option<Nanos> {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a latency, shown with three digits
    l.mean.map(|m| Nanos(m.round() as u64))
}

fn ended(run: &Run, r: &TrialResult, width: u16) -> Vec<Entry> {
    let (role, word) = if r.interrupted { (Role::Warning, "stopped early") } else { (Role::Good, "done") };
    let mut out = vec![text(role, format!("{word}, {} s measured", three_digits(r.window_s)))];
    out.extend(r.stopped_for.as_ref().map(|why| text(Role::Danger, why.clone())));
    out.push(text(Role::Muted, r.engine.clone()));
    out.push(Entry::Blank);
    let heads = |label| {
        let mut cells = vec![("IOPS", RATE), ("MiB/s", RATE)];
        cells.extend(result_heads(width).iter().map(|(head, _)| (*head, LATENCY)));
        Entry::Heads { label, cells }
    };
    out.push(heads(5));
    // A single job is the total.
    let several = r.jobs.len() > 1;
    if several {
        for (i, job) in r.jobs.iter().enumerate() {
            out.push(text(Role::Heading, job.name.clone()));
            figures(&mut out, r.asked.get(i), job, width);
        }
        out.push(text(Role::Heading, "total"));
        rows(&mut out, None, &r.total, width);
    } else {
        figures(&mut out, r.asked.first(), &r.total, width);
    }
    out.push(Entry::Blank);
    out.extend(r.warnings.iter().map(|w| Entry::Text { role: Role::Warning, mark: "!", text: w.clone() }));
    if r.warnings.is_empty() {
        out.push(text(Role::Muted, "no warnings"));
    }
    beside(&mut out, r);
    fairness(&mut out, r);
    out.push(Entry::Blank);
    out.extend(r.promises.iter().map(|p| text(Role::Muted, p.clone())));
    device(&mut out, run, r);
    let facts = words::surroundings(r).into_iter().chain(words::cpu(r));
    out.extend(facts.map(|(label, words)| text(Role::Text, format!("{label} {words}"))));
    out.push(Entry::Blank);
    out.push(Entry::Charts(CHART_ROWS));
    out
}

/// The rows of one job, or of all, and what failed.
fn rows(out: &mut Vec<Entry>, job: Option<&Job>, r: &JobResult, width: u16) {
    let nothing = r.read.ios == 0 && r.write.ios == 0;
    for (word, role, d) in [("read", Role::Read, &r.read), ("write", Role::Write, &r.write)] {
        if d.ios > 0 || (nothing && job.is_none_or(Job::reads) == (word == "read")) {
            out.push(Entry::Row { width: 5, label: word.to_owned(), role, cells: result_cells(d, width) });
        }
    }
    let errors = r.read.errors + r.write.errors;
    if errors > 0 {
        out.push(text(Role::Danger, format!("{errors} I/Os failed")));
    }
}

/// One job's figures.
fn figures(out: &mut Vec<Entry>, job: Option<&Job>, r: &JobResult, width: u16) {
    rows(out, job, r, width);
    for (word, d) in [("read", &r.read), ("write", &r.write)] {
        out.extend(limits(word, d).map(|t| text(Role::Text, t)));
    }
    if let Some(f) = r.flush {
        let time = f.time_ns.unwrap_or_default();
        let shown = |v: Option<Nanos>| v.map_or_else(dash, latency);
        out.push(text(
            Role::Text,
            format!(
                "{} flushes: mean {}, p50 {}, p99 {}, max {}",
                f.calls,
                shown(mean(&time)),
                shown(time.p50),
                shown(time.p99),
                shown(time.max)
            ),
        ));
    }
    if let Some(job) = job {
        let achieved = r.read.iops + r.write.iops;
        out.push(loop_entry(&[], job, Some(achieved)));
        let service =
            [("read", &r.read), ("write", &r.write)].into_iter().filter(|(_, d)| d.lat_ns.is_some());
        for (word, d) in service {
            let clat = d.clat_ns.unwrap_or_default();
            let shown = |v: Option<Nanos>| v.map_or_else(dash, latency);
            out.push(text(
                Role::Muted,
                format!(
                    "{word} service time alone: p50 {}, p99 {}, max {}",
                    shown(clat.p50),
                    shown(clat.p99),
                    shown(clat.max)
                ),
            ));
        }
    }
    if r.not_started > 0 {
        out.push(text(Role::Danger, format!("{} I/Os were due and not even started", r.not_started)));
    }
}

/// In an open loop latency is from when an I/O was due.
fn result_cells(d: &DirectionResult, width: u16) -> Vec<(String, usize)> {
    let l = d.lat_ns.or(d.clat_ns).unwrap_or_default();
    let mut cells = vec![(events(d.iops), RATE), (mib_per_s(d.bytes_per_s), RATE)];
    cells.extend(result_heads(width).iter().map(|(_, of)| (of(&l).map_or_else(dash, latency), LATENCY)));
    cells
}

fn limits(word: &str, d: &DirectionResult) -> Option<String> {
    let one = |o: &crate::workload::result::OverLimit| {
        Some(format!("{:.3}% over {} ms", o.share? * 100.0, o.limit_ns.millis()))
    };
    let all: Vec<String> = d.over_limit.iter().filter_map(one).collect();
    (!all.is_empty()).then(|| format!("{word}: {}", all.join(", ")))
}

/// Columns of a figure alone and beside the others.
const CELL: usize = 9;

/// What the others cost the jobs in the foreground.
fn beside(out: &mut Vec<Entry>, r: &TrialResult) {
    if r.inflation.is_empty() {
        return;
    }
    out.push(Entry::Blank);
    let width = label_width(r.inflation.iter().map(|i| i.job.len() + i.direction.len() + 1));
    let cells = vec![("", 5), ("alone", CELL), ("beside", CELL), ("times", CELL)];
    out.push(Entry::Heads { label: width, cells });
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a latency, shown with three digits
    let shown = |ns: Option<f64>| ns.map_or_else(dash, |ns| latency(Nanos(ns.round() as u64)));
    for (i, row) in r.inflation.iter().enumerate() {
        let label = format!("{} {}", row.job, row.direction);
        let role = if row.direction == "read" { Role::Read } else { Role::Write };
        let mut push = |metric: &str, alone: String, loaded: String, ratio: Option<f64>| {
            let ratio = ratio.map_or_else(dash, three_digits);
            let cells = vec![(metric.to_owned(), 5), (alone, CELL), (loaded, CELL), (ratio, CELL)];
            out.push(Entry::Row { width, label: label.clone(), role, cells });
        };
        if i == 0 || (&r.inflation[i - 1].job, r.inflation[i - 1].direction) != (&row.job, row.direction) {
            let ratio = (row.iops_alone > 0.0).then(|| row.iops_loaded / row.iops_alone);
            push("IOPS", events(row.iops_alone), events(row.iops_loaded), ratio);
        }
        push(row.metric, shown(row.alone_ns), shown(row.loaded_ns), row.ratio);
    }
}

fn fairness(out: &mut Vec<Entry>, r: &TrialResult) {
    let Some(f) = &r.fairness else { return };
    out.push(Entry::Blank);
    for p in f.jobs.iter().filter(|_| f.jobs.len() > 1) {
        let (role, starved) = if p.starved { (Role::Danger, ": starved") } else { (Role::Text, "") };
        let (share, fair) = (p.share * 100.0, p.fair_share * 100.0);
        out.push(text(
            role,
            format!("{} got {share:.1}% of the data, fair would be {fair:.1}%{starved}", p.name),
        ));
    }
    out.push(text(
        Role::Muted,
        format!("fairness among the workers of a job: {:.2} (1 if all got the same)", f.worker_index),
    ));
    if !f.starved_workers.is_empty() {
        let who = f.starved_workers.join(", ");
        out.push(text(Role::Danger, format!("starved, below a quarter of the mean of their job: {who}")));
    }
}

fn device(out: &mut Vec<Entry>, run: &Run, r: &TrialResult) {
    let Some(d) = &r.device else {
        out.push(text(Role::Muted, "the kernel's count is not known: no device was found behind the target"));
        return;
    };
    let share = d.engine_share.map_or_else(dash, |s| format!("{:.1}%", s * 100.0));
    let (reads, writes) = (
        format!("{} reads, {}", d.read_ios, d.read_bytes),
        format!("{} writes, {}", d.write_ios, d.write_bytes),
    );
    let counted = if run.jobs.iter().any(|j| j.rw.writes()) { format!("{reads}; {writes}") } else { reads };
    out.push(text(Role::Text, format!("kernel, {}: {counted}, of which the engine's are {share}", d.name)));
    let sizes = sizes(
        &run.jobs,
        d.read_size_bytes,
        d.write_size_bytes.filter(|_| run.jobs.iter().any(|j| j.rw.writes())),
    );
    out.push(text(Role::Text, format!("{sizes}; {} merged", d.merged)));
}
