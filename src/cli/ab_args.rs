//! The command line of `ab`, and the question it asks.

use std::path::PathBuf;
use std::time::Duration;

use super::outcome::Failure;
use crate::clock::{Clock, SystemClock};
use crate::experiment::asked::{self, Asked, Designed};
use crate::experiment::design::{Blocks, Isolation};
use crate::experiment::limits;
use crate::experiment::metric::Metric;
use crate::stats::splitmix64::SplitMix64;
use crate::sys::name::KernelName;
use crate::sys::queue::QueueState;

/// Arguments of `ab`.
#[derive(clap::Args, Clone, Debug)]
#[allow(clippy::struct_excessive_bools)] // switches of the command line, each independent of the others
pub struct AbArgs {
    /// The device whose settings are compared
    pub device: Option<String>,
    /// What varies: a setting or a key of the workload with two levels, the baseline's first: scheduler=none,bfq
    #[arg(long = "factor", value_name = "NAME=V1,V2")]
    pub factors: Vec<String>,
    /// Vary several factors side by side: the first levels of all against the second ones
    #[arg(long)]
    pub together: bool,
    /// The workload: a preset's name (see `blktune jobs`)
    #[arg(long, required_unless_present = "resume")]
    pub job: Option<String>,
    /// What decides: throughput, iops, mean, p99, `p99_9`, max, `cpu_per_gib` [default: by the workload]
    #[arg(long, value_parser = limits::parse_metric)]
    pub metric: Option<Metric>,
    /// The smallest difference that matters, 0.5% to 50% [default: 3%]
    #[arg(long, value_name = "PERCENT", value_parser = limits::parse_margin)]
    pub margin: Option<f64>,
    /// Measured part of a trial, 3s or more [default: 8s]
    #[arg(long, value_name = "TIME", value_parser = limits::parse_trial)]
    pub trial: Option<Duration>,
    /// Before it, discarded [default: 2s]
    #[arg(long, value_name = "TIME", value_parser = limits::parse_ramp)]
    pub ramp: Option<Duration>,
    /// Pause after settings were changed [default: 1s]
    #[arg(long, value_name = "TIME", value_parser = limits::parse_settle)]
    pub settle: Option<Duration>,
    /// How many blocks: an even number, or auto: looks at 6, 10, 14 and 20
    #[arg(long, value_name = "N|auto", value_parser = limits::parse_blocks, default_value = "auto")]
    pub blocks: Blocks,
    /// No discarded trial before each block
    #[arg(long)]
    pub no_lead_in: bool,
    /// Write levels as a bare echo does, upon the settings that were found (or, =sequence, upon what the last trial left)
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "each",
          value_parser = ["each", "sequence"])]
    pub side_effects: Option<String>,
    /// Run cells that should make no difference
    #[arg(long)]
    pub control: bool,
    /// Seed of the order of blocks and of offsets [default: a new one]
    #[arg(long)]
    pub seed: Option<u64>,
    /// What the workload uses, if not the device: a partition, a file, or a directory for a scratch file
    #[arg(long, value_name = "PATH")]
    pub target: Option<PathBuf>,
    /// Change a field of the workload, by fio's names: bs=4k, iodepth=32
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Keep the record in this directory [default: in a new one below the directory of the program's state]
    #[arg(long, value_name = "DIR")]
    pub record: Option<PathBuf>,
    /// Go on with the experiment of a record that ended before its time
    #[arg(long, value_name = "DIR", conflicts_with_all = ["factors", "job", "record", "calibrate", "device"])]
    pub resume: Option<PathBuf>,
    /// Compare the device with itself, to learn how small a difference this machine can show
    #[arg(long)]
    pub calibrate: bool,
    /// Drop cells that fall behind, by this objective
    #[arg(long, value_name = "OBJECTIVE")]
    pub race: Option<String>,
    /// Exit with 8 if there is no verdict
    #[arg(long)]
    pub require_verdict: bool,
    /// Print what would happen, and do nothing
    #[arg(long)]
    pub plan: bool,
    /// Start beside other people's I/O
    #[arg(long)]
    pub busy_ok: bool,
    /// Start with a margin below what this machine can show, as the last --calibrate has it
    #[arg(long)]
    pub margin_ok: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl AbArgs {
    /// What is asked, and what is to be said of it before it starts.
    ///
    /// # Errors
    /// Factors, levels, a workload or values that there can not be; what is not there yet.
    pub(super) fn design(&self, device: &KernelName, state: &QueueState) -> Result<Designed, Failure> {
        if self.race.is_some() {
            return Err(Failure::Usage(
                "--race is not there yet; two cells are compared without it".to_owned(),
            ));
        }
        let seed = self.seed.unwrap_or_else(|| {
            SplitMix64::new(SystemClock.wall().0 ^ u64::from(std::process::id()).rotate_left(40)).next_u64()
                // Short enough to be typed again.
                % 1_000_000
        });
        let asked = Asked {
            target: self.target.clone(),
            factors: self.factors.clone(),
            together: self.together,
            set: self.set.clone(),
            metric: self.metric,
            margin: self.margin,
            trial: self.trial,
            ramp: self.ramp,
            settle: self.settle,
            blocks: self.blocks,
            lead_ins: !self.no_lead_in,
            isolation: match self.side_effects.as_deref() {
                None => Isolation::Isolated,
                Some("sequence") => Isolation::Sequence,
                Some(_) => Isolation::SideEffects,
            },
            control: self.control,
            calibrate: self.calibrate,
            ..Asked::new(&device.kernel(), self.job.as_deref().unwrap_or_default(), seed)
        };
        asked::design(&asked, state).map_err(|e| Failure::Usage(e.to_string()))
    }
}
