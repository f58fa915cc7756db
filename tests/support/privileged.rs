//! Tests that need root and loop devices: they say so where they can not run, and fail where they must.

use std::io::Write;

use blktune::sys::loopdev;

/// Set to 1 where tests that need root must run: a test that can not then fails instead of saying so.
const REQUIRE: &str = "BLKTUNE_REQUIRE_PRIVILEGED";

/// Whether loop devices can be made here. If not, says which test does not run and why, or panics if
/// `BLKTUNE_REQUIRE_PRIVILEGED=1`.
pub fn privileged(what: &str) -> bool {
    let reason = match loopdev::available() {
        Ok(()) if rustix::process::geteuid().is_root() => return true,
        Ok(()) => "not root".to_owned(),
        Err(e) => e.to_string(),
    };
    assert!(
        std::env::var_os(REQUIRE).is_none_or(|v| v != "1"),
        "{what} needs root and loop devices ({reason}), and {REQUIRE}=1 asks for it to run"
    );
    // Past the harness, which would keep what a passing test says to itself.
    let _ = writeln!(std::io::stderr(), "not run: {what} needs root and loop devices ({reason})");
    false
}

/// Whether a program of the system can be started. If not, says which test does not run and which package has it, or
/// panics if `BLKTUNE_REQUIRE_PRIVILEGED=1`.
pub fn installed(what: &str, program: &str, package: &str) -> bool {
    if std::process::Command::new(program).arg("-V").output().is_ok() {
        return true;
    }
    let reason = format!("{what} needs {program}, of the package {package}");
    assert!(
        std::env::var_os(REQUIRE).is_none_or(|v| v != "1"),
        "{reason}, and {REQUIRE}=1 asks for it to run"
    );
    let _ = writeln!(std::io::stderr(), "not run: {reason}");
    false
}
