//! The engine beside fio, on the same device at the same depth. Run with `cargo bench --bench engine`, as root; it needs
//! fio. It prints ratios beside their goals and fails nothing, since machines are noisy.
//!
//! Each round runs both programs four times, in random order. A round's ratio is of the means of four; how far the first
//! and third run of one program are from its second and fourth is the noise (A/A), and where that is above 5% nothing is
//! concluded, whatever the ratio says. Many short runs rather than few long ones: a machine's pace drifts over seconds, and
//! what is compared has to lie close together.
//! CPU time is compared over all rounds together: many kernels see whether a program or the kernel runs only by looking
//! some hundred times a second, and a single run has a dozen of such looks in user space.
//! Ratios stand a machine that others use better than times do, so the share of it that others used is told as well,
//! as seen in pauses between the runs.
//!
//! * io_uring at iodepth 32 on a loop device over a file in memory: what is left is the engine, the block layer and
//!   the loop driver. IOPS, and CPU time in user space per I/O.
//! * psync on a zram device made for this: an I/O is answered by the thread that asks.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use blktune::sys::scratch;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::Value;

mod interleaved;

use interleaved::{between_halves, spread, summary};

const ROUNDS: usize = 8;
const SECONDS: u32 = 1;
/// Runs of each program in a round.
const RUNS: usize = 4;
const MIB: u64 = 64;
/// Two halves of the runs of one program may differ by this much (standard deviation of the logarithm of their ratio).
const TOO_NOISY: f64 = 0.05;

type Error = Box<dyn std::error::Error>;

#[derive(Clone, Copy)]
struct Run {
    iops: f64,
    user_ns_per_io: f64,
    system_ns_per_io: f64,
}

fn main() -> Result<(), Error> {
    // `cargo test --benches` runs this with --test: measuring there would only slow the tests.
    if std::env::args().any(|a| a == "--test") {
        return Ok(());
    }
    let fio = Command::new("fio").arg("--version").output().map_err(|e| format!("fio: {e}"))?;
    println!(
        "{} beside it, {ROUNDS} rounds of {RUNS} runs of {SECONDS} s each",
        String::from_utf8_lossy(&fio.stdout).trim()
    );

    let device = interleaved::device_in_memory(MIB)?;
    beside("loop, io_uring, iodepth 32", &device.node(), "io_uring", 32, 0.98)?;
    device.remove()?;

    match Zram::new() {
        Ok(zram) => {
            beside("zram, psync", &zram.node, "psync", 1, 1.05)?;
            zram.remove()?;
        }
        Err(why) => println!("zram, psync: not measured, {why}"),
    }
    Ok(())
}

fn beside(name: &str, node: &Path, engine: &str, depth: u32, goal: f64) -> Result<(), Error> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let (mut iops, mut noise) = (Vec::new(), Vec::new());
    let mut all: [Vec<Run>; 2] = [Vec::new(), Vec::new()];
    let mut others = Vec::new();
    for round in 0..=ROUNDS {
        let mut runs = [Vec::new(), Vec::new()];
        for program in interleaved::order(RUNS, &mut rng)? {
            others.push(busy(Duration::from_millis(300))?);
            let run = if program == 0 { fio(node, engine, depth)? } else { blktune(node, engine, depth)? };
            runs[program].push(run);
        }
        // The first round warms memory up.
        if round == 0 {
            continue;
        }
        let sum = |program: usize, of: fn(&Run) -> f64| runs[program].iter().map(of).sum::<f64>();
        iops.push(sum(1, |r| r.iops) / sum(0, |r| r.iops));
        let of_each = |runs: &Vec<Run>| runs.iter().map(|r| r.iops).collect::<Vec<f64>>();
        noise.extend(runs.iter().map(|runs| between_halves(&of_each(runs))));
        for (all, runs) in all.iter_mut().zip(runs) {
            all.extend(runs);
        }
    }
    let spread = spread(&noise);
    let busy = 100.0 * summary(&mut others).0;
    println!("{name}: A/A spread {:.1} %, others kept {busy:.0} % of the machine busy", 100.0 * spread);
    let (ratio, least, most) = summary(&mut iops);
    println!(
        "  IOPS             {ratio:.3} of fio's ({least:.3} to {most:.3}; goal: at least {goal})  {}",
        word(ratio >= goal, spread)
    );
    let (ratio, off) = together(&all, |r| r.user_ns_per_io);
    println!(
        "  user CPU per I/O {ratio:.3} of fio's (standard error {off:.3}; goal: at most 0.25)  {}",
        word(ratio <= 0.25, spread)
    );
    let (ratio, off) = together(&all, |r| r.system_ns_per_io);
    println!("  system CPU per I/O {ratio:.3} of fio's (standard error {off:.3})");
    Ok(())
}

fn word(met: bool, spread: f64) -> &'static str {
    match (spread > TOO_NOISY, met) {
        (true, _) => "not met: too noisy",
        (false, true) => "met",
        (false, false) => "not met",
    }
}

/// The ratio of the means of all runs, and its standard error.
fn together(all: &[Vec<Run>; 2], of: fn(&Run) -> f64) -> (f64, f64) {
    #[allow(clippy::cast_precision_loss)] // some runs
    let mean_and_share = |runs: &[Run]| {
        let n = runs.len() as f64;
        let mean = runs.iter().map(of).sum::<f64>() / n;
        let variance = runs.iter().map(|r| (of(r) - mean).powi(2)).sum::<f64>() / (n - 1.0);
        (mean, (variance / n).sqrt() / mean)
    };
    let [(theirs, a), (ours, b)] = [&all[0], &all[1]].map(|runs| mean_and_share(runs));
    (ours / theirs, ours / theirs * a.hypot(b))
}

/// Share of the machine's CPU time that was used while nothing of ours ran.
fn busy(time: Duration) -> Result<f64, Error> {
    let ticks = || -> Result<(f64, f64), Error> {
        let text = fs::read_to_string("/proc/stat")?;
        let line = text.lines().next().unwrap_or_default();
        let all: Vec<f64> = line.split_whitespace().skip(1).take(8).filter_map(|n| n.parse().ok()).collect();
        // The fourth and fifth are idle time.
        Ok((all.iter().sum(), all.iter().skip(3).take(2).sum()))
    };
    let (all, idle) = ticks()?;
    std::thread::sleep(time);
    let (all, idle) = {
        let (a, i) = ticks()?;
        (a - all, i - idle)
    };
    Ok(if all > 0.0 { 1.0 - idle / all } else { 0.0 })
}

fn fio(node: &Path, engine: &str, depth: u32) -> Result<Run, Error> {
    let mut command = Command::new("fio");
    command
        .args(["--name=a", "--thread", "--direct=1", "--rw=randread", "--bs=4k", "--norandommap"])
        .args(["--randrepeat=0", "--time_based", "--output-format=json", "--ramp_time=0.3"])
        .arg(format!("--filename={}", node.display()))
        .arg(format!("--runtime={SECONDS}"))
        .arg(format!("--ioengine={engine}"))
        .arg(format!("--iodepth={depth}"));
    if engine == "io_uring" {
        command.args(["--fixedbufs", "--registerfiles"]);
    }
    let json = answer(&mut command)?;
    let job = &json["jobs"][0];
    let number = |v: &Value| v.as_f64().ok_or_else(|| format!("fio said no number: {v}"));
    let ios = number(&job["read"]["total_ios"])?;
    // Percent of the job's run time.
    let cpu = |key: &str| -> Result<f64, Error> {
        Ok(number(&job[key])? / 100.0 * number(&job["job_runtime"])? * 1e6 / ios)
    };
    Ok(Run {
        iops: number(&job["read"]["iops"])?,
        user_ns_per_io: cpu("usr_cpu")?,
        system_ns_per_io: cpu("sys_cpu")?,
    })
}

fn blktune(node: &Path, engine: &str, depth: u32) -> Result<Run, Error> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_blktune"));
    command.args(["run", "randread-4k"]).arg(node).arg("--json");
    for key in ["direct=true", "ramp=300ms"] {
        command.args(["--set", key]);
    }
    for key in [format!("engine={engine}"), format!("iodepth={depth}"), format!("runtime={SECONDS}s")] {
        command.arg("--set").arg(key);
    }
    let json = answer(&mut command)?;
    let number = |v: &Value| v.as_f64().ok_or_else(|| format!("blktune said no number: {v}"));
    Ok(Run {
        iops: number(&json["total"]["read"]["iops"])?,
        user_ns_per_io: number(&json["cpu"]["user_ns_per_io"])?,
        system_ns_per_io: number(&json["cpu"]["system_ns_per_io"])?,
    })
}

fn answer(command: &mut Command) -> Result<Value, Error> {
    let output = command.output()?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Which zram device is ours, for whoever comes after a run that was killed.
const NOTE: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/engine-zram");

/// The sequence number of a zram device; nothing if there is none.
fn diskseq(number: u32) -> String {
    fs::read_to_string(format!("/sys/block/zram{number}/diskseq")).unwrap_or_default().trim().to_owned()
}

/// A zram device of our own, full of data that can not be compressed.
struct Zram {
    number: u32,
    node: PathBuf,
    gone: bool,
}

impl Zram {
    fn new() -> Result<Self, Error> {
        Self::remove_left()?;
        let control = Path::new("/sys/class/zram-control");
        let text = fs::read_to_string(control.join("hot_add")).map_err(|e| format!("zram-control: {e}"))?;
        let number: u32 = text.trim().parse()?;
        fs::write(NOTE, format!("{number} {}", diskseq(number)))?;
        let zram = Self { number, node: PathBuf::from(format!("/dev/zram{number}")), gone: false };
        fs::write(format!("/sys/block/zram{number}/disksize"), format!("{MIB}M"))?;
        let file = fs::OpenOptions::new().write(true).open(&zram.node)?;
        let mut chunk = vec![0; 1 << 20];
        for i in 0..MIB {
            scratch::content(i << 20, &mut chunk);
            file.write_all_at(&chunk, i << 20)?;
        }
        file.sync_all()?;
        Ok(zram)
    }

    fn remove(mut self) -> Result<(), Error> {
        self.gone = true;
        self.go()
    }

    /// Removes what a run of this that was killed has left: the very device that it noted, by its sequence number.
    fn remove_left() -> Result<(), Error> {
        let Ok(note) = fs::read_to_string(NOTE) else { return Ok(()) };
        if let Some((number, seq)) = note.split_once(' ')
            && let Ok(number) = number.parse()
            && !seq.is_empty()
            && seq == diskseq(number)
        {
            println!("zram{number} was left by a run before: removed");
            Self { number, node: PathBuf::new(), gone: true }.go()?;
        }
        // Already gone, if the device was.
        let _ = fs::remove_file(NOTE);
        Ok(())
    }

    fn go(&self) -> Result<(), Error> {
        // Whoever looks at a new device may still have it open.
        let mut tries = 0;
        while let Err(e) = fs::write("/sys/class/zram-control/hot_remove", self.number.to_string()) {
            tries += 1;
            if tries == 100 {
                return Err(format!("zram{} could not be removed: {e}", self.number).into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        // Without it nothing is removed at the next start.
        let _ = fs::remove_file(NOTE);
        Ok(())
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        if !self.gone
            && let Err(e) = self.go()
        {
            eprintln!("{e}");
        }
    }
}
