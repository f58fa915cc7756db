//! What it costs to know 10,000 devices: the first look, a poll, and the open screen. Run with `cargo bench --bench inventory`;
//! it prints figures beside their goals and fails nothing, since machines are noisy.

// A bench that can not set up what it needs ends there and then.
#![allow(clippy::unwrap_used)]

// Public for the tests, which share it.
#[allow(unreachable_pub)]
#[path = "../tests/support/synthetic.rs"]
mod synthetic;

use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use blktune::sys::inventory;
use blktune::sys::root::SysRoot;
use blktune::sys::staged::Inventory;
use blktune::sys::usage::Users;
use portable_pty::{CommandBuilder, PtySize, native_pty_system};

const IDLE: Duration = Duration::from_secs(20);
/// A first frame is there when this much has been sent: more than any setting up of the terminal.
const A_FRAME: usize = 200;

type Error = Box<dyn std::error::Error>;

fn main() -> Result<(), Error> {
    // `cargo test --benches` runs this with --test: measuring there would only slow the tests.
    if std::env::args().any(|a| a == "--test") {
        return Ok(());
    }
    let program = std::env::var("BLKTUNE").unwrap_or_else(|_| env!("CARGO_BIN_EXE_blktune").to_owned());
    for count in [200, 1_000, 10_000] {
        let (took, tree) = timed(|| synthetic::many_devices(count));
        println!("{count} devices (made in {took:.1?})");
        measure(&program, tree?.path())?;
    }
    let tree = synthetic::many_loops(2_500, 22)?;
    println!("2500 loop devices, 22 of them bound");
    measure(&program, tree.path())
}

fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let begin = Instant::now();
    let result = work();
    (begin.elapsed(), result)
}

fn measure(program: &str, tree: &Path) -> Result<(), Error> {
    let root = SysRoot::captured(tree);
    let (names, found) = timed(|| inventory::names(&root));
    let (sketch, sketches) = timed(|| inventory::sketch(&root));
    let users = Users::read(&root);
    let (whole, _) = timed(|| inventory::scan_with(&root, &users));
    let mut kept = Inventory::of(root, sketches?);
    let (moved, _) = timed(|| kept.refresh_names());
    println!(
        "  names {names:.1?}, sketch {sketch:.1?}, whole {whole:.1?} ({:.1?} each)",
        whole / found?.len().try_into()?
    );
    println!("  names looked at again {moved:.1?}");
    screen(program, tree)
}

/// Time to the first frame, then the share of a core while it is left alone: in its first seconds, and later.
fn screen(program: &str, tree: &Path) -> Result<(), Error> {
    let begin = Instant::now();
    let pair =
        native_pty_system().openpty(PtySize { rows: 40, cols: 120, pixel_width: 0, pixel_height: 0 })?;
    let mut command = CommandBuilder::new(program);
    command.args(["--sysroot", tree.to_str().ok_or("a plain path")?]);
    command.env("TERM", "xterm-256color");
    command.env("LC_ALL", "C.UTF-8");
    let mut child = pair.slave.spawn_command(command)?;
    let mut reader = pair.master.try_clone_reader()?;
    let (mut bytes, mut seen) = ([0; 8192], 0);
    while seen < A_FRAME {
        match reader.read(&mut bytes)? {
            0 => return Err("the program ended before its first frame".into()),
            n => seen += n,
        }
    }
    let first = begin.elapsed();
    std::thread::spawn(move || while matches!(reader.read(&mut bytes), Ok(1..)) {});
    let pid = child.process_id().ok_or("the program has ended")?;
    println!("  first frame after {first:.1?} (goal: 50 ms and the names)");
    std::thread::sleep(Duration::from_secs(2));
    for (what, goal) in [("first", "6 %"), ("later", "1 % beside samples, frames and what is shown")] {
        let before = threads(pid)?;
        std::thread::sleep(IDLE);
        let mut parts = Vec::new();
        let mut sum = 0.0;
        for (name, ns) in threads(pid)? {
            let used = ns.saturating_sub(before.iter().filter(|b| b.0 == name).map(|b| b.1).sum());
            #[allow(clippy::cast_precision_loss)] // two digits are printed
            let share = 100.0 * used as f64 / IDLE.as_nanos() as f64;
            sum += share;
            if share >= 0.05 {
                parts.push(format!("{name} {share:.2}"));
            }
        }
        println!(
            "  {what}: {sum:.2} % of a core over {IDLE:?} (watcher's goal: {goal}): {}",
            parts.join(", ")
        );
    }
    child.kill()?;
    child.wait()?;
    Ok(())
}

/// CPU time of each thread of the program under the supervisor, ns: the first number of its schedstat.
fn threads(supervisor: u32) -> Result<Vec<(String, u64)>, Error> {
    let children = std::fs::read_to_string(format!("/proc/{supervisor}/task/{supervisor}/children"))?;
    let pid: u32 = children.split_whitespace().next().ok_or("no program under the supervisor")?.parse()?;
    let mut all = Vec::new();
    for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let task = task?.path();
        let text = std::fs::read_to_string(task.join("schedstat"))?;
        let name = std::fs::read_to_string(task.join("comm"))?.trim().to_owned();
        all.push((name, text.split_whitespace().next().unwrap_or("0").parse()?));
    }
    Ok(all)
}
