//! What an open screen costs the trial that runs beside it. Run with `cargo bench --bench screen_beside`, as root; it prints
//! ratios beside their goal and fails nothing, since machines are noisy.
//!
//! The same trial by the command, in random order several times with nothing open and as often with the list of devices open
//! in a terminal, which shows what the trial does. How far the halves of a kind are apart is the noise (A/A): the screen is
//! to cost no more than that, and where it is above 1 % (5 % where nothing limits the device) nothing is concluded.
//!
//! * A loop device whose requests a control group limits: a screen that is in the way shows at once.
//! * The same without a limit, io_uring at iodepth 32: what the screen takes from the processors shows.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use blktune::sys::loopdev::LoopDevice;
use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

#[path = "../tests/support/throttle.rs"]
#[allow(dead_code, unreachable_pub, clippy::expect_used, clippy::panic)] // what else tests ask of it
mod throttle;

mod interleaved;

use interleaved::{between_halves, spread, summary};
use throttle::Throttle;

const ROUNDS: usize = 6;
const MIB: u64 = 64;
const REQUESTS_PER_S: u64 = 2000;
/// For the first frame, and the looks at everything that come with it. The machine rests as long where nothing is opened.
const SETTLED: Duration = Duration::from_millis(1500);

type Error = Box<dyn std::error::Error>;

fn main() -> Result<(), Error> {
    // `cargo test --benches` runs this with --test: measuring there would only slow the tests.
    if std::env::args().any(|a| a == "--test") {
        return Ok(());
    }
    let device = interleaved::device_in_memory(MIB)?;
    println!("{ROUNDS} rounds");
    if let Some(limit) = Throttle::read_iops(&device, REQUESTS_PER_S) {
        // A limit lets some more through at the start.
        let keys = ["iodepth=4", "ramp=1s", "runtime=2s"];
        beside(&format!("at most {REQUESTS_PER_S} IOPS"), &device, Some(limit.group()), &keys, 2, 0.01)?;
    }
    let keys = ["engine=io_uring", "iodepth=32", "ramp=300ms", "runtime=1s"];
    beside("without a limit, iodepth 32", &device, None, &keys, 4, 0.05)?;
    device.remove()?;
    Ok(())
}

fn beside(
    name: &str,
    device: &LoopDevice,
    group: Option<&Path>,
    keys: &[&str],
    runs: usize,
    too_noisy: f64,
) -> Result<(), Error> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let (mut ratios, mut noise) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let (mut alone, mut open) = (Vec::new(), Vec::new());
        for kind in interleaved::order(runs, &mut rng)? {
            let with_screen = kind == 1;
            let screen = with_screen.then(Screen::open).transpose()?;
            std::thread::sleep(SETTLED);
            let iops = trial(device, group, keys)?;
            if with_screen { &mut open } else { &mut alone }.push(iops);
            screen.map(Screen::close).transpose()?;
        }
        // The first round warms memory up.
        if round > 0 {
            let sum = |iops: &[f64]| iops.iter().sum::<f64>();
            ratios.push((sum(&open) / sum(&alone)).ln());
            noise.extend([&alone, &open].map(|iops| between_halves(iops)));
        }
    }
    let spread = spread(&noise);
    let (median, least, most) = summary(&mut ratios);
    let word = match (spread > too_noisy, median.abs() <= spread) {
        (true, _) => "not met: too noisy",
        (false, true) => "met",
        (false, false) => "not met",
    };
    println!(
        "{name}: IOPS {:+.2} % ({:+.2} to {:+.2} %; goal: within the A/A spread of {:.2} %)  {word}",
        percent(median),
        percent(least),
        percent(most),
        100.0 * spread,
    );
    Ok(())
}

fn percent(log_ratio: f64) -> f64 {
    100.0 * log_ratio.exp_m1()
}

/// IOPS of a trial, in a control group if there is one.
fn trial(device: &LoopDevice, group: Option<&Path>, keys: &[&str]) -> Result<f64, Error> {
    let mut command = Command::new("sh");
    command.args(["-c", "[ -z \"$1\" ] || echo $$ >\"$1/cgroup.procs\" || exit; shift; exec \"$@\"", "sh"]);
    command.arg(group.unwrap_or(Path::new(""))).arg(env!("CARGO_BIN_EXE_blktune"));
    command.args(["run", "randread-4k"]).arg(device.node()).args(["--json", "--set", "direct=true"]);
    for key in keys {
        command.args(["--set", key]);
    }
    let output = command.output()?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let json: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let iops = &json["total"]["read"]["iops"];
    iops.as_f64().ok_or_else(|| format!("blktune said no number: {iops}").into())
}

/// The program at a terminal, which is read as fast as it writes.
struct Screen {
    child: Box<dyn portable_pty::Child + Send + Sync>,
    terminal: Box<dyn portable_pty::MasterPty + Send>,
}

impl Screen {
    fn open() -> Result<Self, Error> {
        let pair =
            native_pty_system().openpty(PtySize { rows: 40, cols: 120, pixel_width: 0, pixel_height: 0 })?;
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_blktune"));
        command.env("TERM", "xterm-256color");
        command.env("LC_ALL", "C.UTF-8");
        command.env("XDG_STATE_HOME", std::env::temp_dir().join("blktune-bench-has-no-state"));
        let child = pair.slave.spawn_command(command)?;
        let mut reader = pair.master.try_clone_reader()?;
        std::thread::spawn(move || std::io::copy(&mut reader, &mut std::io::sink()));
        Ok(Self { child, terminal: pair.master })
    }

    fn close(mut self) -> Result<(), Error> {
        if let Some(end) = self.child.try_wait()? {
            return Err(format!("the screen ended by itself: {end:?}").into());
        }
        // As a closed window does.
        drop(self.terminal);
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}
