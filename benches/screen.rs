//! What the open screen costs: time to the first frame, and CPU and bytes while it is left alone. Run with
//! `cargo bench --bench screen`; it prints figures beside their goals and fails nothing, since machines are noisy.

use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

const STARTS: usize = 15;
const IDLE: Duration = Duration::from_secs(10);
/// A first frame is there when this much has been sent: more than any setting up of the terminal.
const A_FRAME: usize = 200;

type Error = Box<dyn std::error::Error>;
type Running = (Box<dyn Child + Send + Sync>, Box<dyn MasterPty + Send>);

fn main() -> Result<(), Error> {
    // `cargo test --benches` runs this with --test: measuring there would only slow the tests.
    if std::env::args().any(|a| a == "--test") {
        return Ok(());
    }
    let mut starts = Vec::new();
    for _ in 0..STARTS {
        starts.push(first_frame()?);
    }
    starts.sort();
    let (median, worst) = (starts[STARTS / 2], starts[STARTS - 1]);
    println!(
        "first frame  median {:.1?}, worst {worst:.1?} of {STARTS} starts (goal: 50 ms)  {}",
        median,
        word(median.as_millis() <= 50)
    );

    let (cpu_pct, bytes_per_s) = idle()?;
    println!("left alone   {cpu_pct:.2} % of a core over {IDLE:?} (goal: 1 %)  {}", word(cpu_pct < 1.0));
    println!("             {bytes_per_s:.0} bytes/s to a terminal of 120x40");
    Ok(())
}

fn word(met: bool) -> &'static str {
    if met { "met" } else { "not met" }
}

fn start() -> Result<Running, Error> {
    let size = PtySize { rows: 40, cols: 120, pixel_width: 0, pixel_height: 0 };
    let pair = native_pty_system().openpty(size)?;
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_blktune"));
    command.env("TERM", "xterm-256color");
    command.env("LC_ALL", "C.UTF-8");
    // What the person who measures chose in the list is not measured, nor changed.
    command.env("XDG_STATE_HOME", std::env::temp_dir().join("blktune-bench-has-no-state"));
    Ok((pair.slave.spawn_command(command)?, pair.master))
}

fn end(mut child: Box<dyn Child + Send + Sync>) -> Result<(), Error> {
    child.kill()?;
    child.wait()?;
    Ok(())
}

fn first_frame() -> Result<Duration, Error> {
    let begin = Instant::now();
    let (child, master) = start()?;
    let mut reader = master.try_clone_reader()?;
    let (mut bytes, mut seen) = ([0; 8192], 0);
    while seen < A_FRAME {
        match reader.read(&mut bytes)? {
            0 => return Err("the program ended before its first frame".into()),
            n => seen += n,
        }
    }
    let took = begin.elapsed();
    end(child)?;
    Ok(took)
}

/// CPU share in percent, and bytes per second, after the first three seconds.
fn idle() -> Result<(f64, f64), Error> {
    let (child, master) = start()?;
    let mut reader = master.try_clone_reader()?;
    let (count, counted) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = [0; 8192];
        while let Ok(n @ 1..) = reader.read(&mut bytes) {
            if count.send(n).is_err() {
                return;
            }
        }
    });
    let pid = child.process_id().ok_or("the program has ended")?;
    std::thread::sleep(Duration::from_secs(3));
    let before = cpu_ns(pid)?;
    counted.try_iter().for_each(drop);
    std::thread::sleep(IDLE);
    let used = cpu_ns(pid)?.saturating_sub(before);
    let sent: usize = counted.try_iter().sum();
    end(child)?;
    #[allow(clippy::cast_precision_loss)] // two digits are printed
    Ok((100.0 * used as f64 / IDLE.as_nanos() as f64, sent as f64 / IDLE.as_secs_f64()))
}

/// CPU time of the supervisor and the program it runs, all threads, in ns: the first number of each schedstat, since
/// ticks of 10 ms are too coarse.
fn cpu_ns(supervisor: u32) -> Result<u64, Error> {
    let mut sum = 0;
    for pid in children(supervisor)?.into_iter().chain([supervisor]) {
        for task in std::fs::read_dir(Path::new("/proc").join(pid.to_string()).join("task"))? {
            let text = std::fs::read_to_string(task?.path().join("schedstat"))?;
            sum += text.split_whitespace().next().unwrap_or("0").parse::<u64>()?;
        }
    }
    Ok(sum)
}

/// The processes that this one started from its main thread.
fn children(pid: u32) -> Result<Vec<u32>, Error> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
    let children: Vec<u32> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    if children.is_empty() { Err("no program under the supervisor".into()) } else { Ok(children) }
}
