//! What the integration tests share: captured trees, loop devices, the binary.

// Each test binary compiles all of this as a private module and uses its own part of it.
#![allow(dead_code, unused_imports, unreachable_pub)]
// A test that can not set up what it needs fails there and then.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod chance;
pub mod crash;
pub mod experiment;
pub mod experiment_record;
pub mod fixtures;
pub mod frames;
pub mod loopdev;
pub mod model;
pub mod privileged;
pub mod processes;
pub mod pty;
pub mod runs;
pub mod scenes;
pub mod synthetic;
pub mod throttle;

use tempfile::TempDir;

pub use loopdev::{LoopDevice, loop_device};
pub use privileged::{installed, privileged};
pub use processes::{children, is_stuck, keepers, state_of};

/// The program with a home of its own, so that no test reads or writes the configuration, state or colour settings
/// of whoever runs it. Keep the returned directory until the command has ended.
pub fn blktune() -> (assert_cmd::Command, TempDir) {
    let home = tempfile::tempdir().expect("a temporary directory");
    let mut command = assert_cmd::Command::new(assert_cmd::cargo::cargo_bin!("blktune"));
    for (variable, dir) in [
        ("HOME", ""),
        ("XDG_CONFIG_HOME", "config"),
        ("XDG_STATE_HOME", "state"),
        ("XDG_DATA_HOME", "data"),
        ("XDG_CACHE_HOME", "cache"),
        ("XDG_RUNTIME_DIR", "run"),
    ] {
        command.env(variable, home.path().join(dir));
    }
    for variable in ["NO_COLOR", "COLORTERM", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES", "PAGER"] {
        command.env_remove(variable);
    }
    command.env("LC_ALL", "C.UTF-8").env("TERM", "xterm-256color").timeout(std::time::Duration::from_mins(1));
    (command, home)
}
