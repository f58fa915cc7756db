//! What an I/O costs in instructions of the program, kernel not counted. Run with `cargo bench --bench instructions`, as
//! root; it needs valgrind.
//!
//! Unlike times, this is a figure that other load on the machine hardly changes: runs of 5,000 and of 205,000 I/Os under
//! callgrind, and their difference over 200,000, so that starting and ending count nothing. So many, because a run looks at
//! all processes of the host before and after, and where these come and go that is some 500,000 instructions more or less.
//! Repeats are within some percent: what the collector does ten times a second is in it, and so is the number of times
//! a wait had to be entered. So this one has limits, and fails where they are exceeded. It measures the program as it is
//! released.

use std::path::Path;
use std::process::Command;

use blktune::sys::loopdev::{self, LoopDevice, LoopOptions};
use blktune::sys::scratch;
use blktune::units::Bytes;

const FEW: u64 = 5_000;
const MANY: u64 = 205_000;
const MIB: u64 = 32;

type Error = Box<dyn std::error::Error>;

/// One way of running, and the most that an I/O may cost; None where it is only told.
struct Case {
    name: &'static str,
    preset: &'static str,
    keys: &'static [&'static str],
    limit: Option<f64>,
}

/// fio 3.33 takes 2,000 to 2,600 for the first two.
const CASES: [Case; 8] = [
    case("psync, random reads", "randread-4k", &["engine=psync", "iodepth=1"], Some(200.0)),
    case(
        "io_uring, iodepth 32, random reads",
        "randread-4k",
        &["engine=io_uring", "iodepth=32"],
        Some(250.0),
    ),
    case("null, random reads", "randread-4k", &["engine=null"], None),
    case("psync, no place read twice", "randread-4k", &["engine=psync", "norandommap=0"], None),
    case("psync, open loop", "randread-4k", &["engine=psync", "iodepth=1", "rate_iops=1000000"], None),
    case("null, reads and writes", "randrw-4k-70", &["engine=null"], None),
    case("psync, reads and writes", "randrw-4k-70", &["engine=psync", "iodepth=1"], None),
    case("io_uring, iodepth 32, reads and writes", "randrw-4k-70", &["engine=io_uring", "iodepth=32"], None),
];

const fn case(
    name: &'static str,
    preset: &'static str,
    keys: &'static [&'static str],
    limit: Option<f64>,
) -> Case {
    Case { name, preset, keys, limit }
}

fn main() -> Result<(), Error> {
    // `cargo test --benches` runs this with --test: measuring there would only slow the tests.
    if std::env::args().any(|a| a == "--test") {
        return Ok(());
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        return Err("there is no valgrind".into());
    }
    loopdev::available()?;
    let memory = Path::new("/dev/shm");
    let dir = if memory.is_dir() { tempfile::tempdir_in(memory)? } else { tempfile::tempdir()? };
    let file = scratch::nameless(dir.path())?;
    scratch::fill(&file, Bytes(MIB << 20), &mut |_| std::ops::ControlFlow::Continue(()))?;
    let device = LoopDevice::over(file, LoopOptions::default())?;

    println!("instructions of the program per I/O");
    let mut exceeded = Vec::new();
    for case in &CASES {
        let writes = case.preset.starts_with("randrw");
        let target = if writes { dir.path().to_path_buf() } else { device.node() };
        let per_io = per_io(case, &target)?;
        let word = match case.limit {
            Some(limit) if per_io > limit => {
                exceeded.push(case.name);
                format!("(at most {limit:.0})  not met")
            }
            Some(limit) => format!("(at most {limit:.0})  met"),
            None => String::new(),
        };
        println!("{:<40} {per_io:>6.0}  {word}", case.name);
    }
    device.remove()?;
    if exceeded.is_empty() { Ok(()) } else { Err(format!("too many: {}", exceeded.join("; ")).into()) }
}

fn per_io(case: &Case, target: &Path) -> Result<f64, Error> {
    let (few, many) = (instructions(case, target, FEW)?, instructions(case, target, MANY)?);
    let more =
        many.checked_sub(few).ok_or_else(|| format!("{}: {few} and {many} make no sense", case.name))?;
    #[allow(clippy::cast_precision_loss)] // three digits are printed
    Ok(more as f64 / (MANY - FEW) as f64)
}

/// Of one whole run, in every process that it is made of.
fn instructions(case: &Case, target: &Path, ios: u64) -> Result<u64, Error> {
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--trace-children=yes", "--callgrind-out-file=/dev/null"])
        .arg(env!("CARGO_BIN_EXE_blktune"))
        .args(["run", case.preset])
        .arg(target)
        .arg("--json");
    let number = format!("number_ios={ios}");
    let size = format!("size={MIB}m");
    for key in ["ramp=0s", "runtime=600s", &size, &number].iter().chain(case.keys) {
        command.args(["--set", key]);
    }
    let output = command.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let collected = said
        .lines()
        .filter_map(|line| line.split("Collected : ").nth(1)?.split_whitespace().next()?.parse::<u64>().ok())
        .reduce(|a, b| a + b);
    match collected {
        Some(n) if output.status.success() => Ok(n),
        _ => Err(format!("{}: {}: {said}", case.name, output.status).into()),
    }
}
