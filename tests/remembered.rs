//! What is chosen in the list is there again at the next start: the real binary in a pseudo-terminal, on a captured tree.

// A test's functions fail the test by panicking.
#![allow(clippy::unwrap_used)]

mod support;

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use support::pty::Session;

/// The screen on a captured tree with this directory for what is remembered.
fn open(tree: &Path, state: &Path) -> Session {
    let args = ["--sysroot", tree.to_str().unwrap()];
    let s = Session::start_with(&args, &[("XDG_STATE_HOME", state.to_str().unwrap())], 80, 24);
    s.wait_for("NAME");
    s
}

fn heads(s: &Session) -> String {
    s.line_with(" NAME")
}

#[test]
fn columns_and_order_are_there_again_at_the_next_start() {
    let tree = support::fixtures::sysroot("linux-6.18-loop");
    let state = tempfile::tempdir().unwrap();
    let mut s = open(tree.path(), state.path());
    assert!(heads(&s).contains("SIZE SCHED"), "{}", heads(&s));
    s.keys("o");
    s.wait_for("Columns: the default ones");
    s.keys("J \r");
    s.wait_until("SIZE gone", |t| t.contains(" NAME            SCHED"));
    s.keys("s");
    s.wait_for("Sort by");
    s.keys("rf");
    s.wait_until("the names from the end", |t| t.contains(" NAMEv           SCHED"));
    // At once: what was chosen is written all the same.
    assert!(s.quit().success());

    let file = state.path().join("blktune/view.toml");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let mut s = open(tree.path(), state.path());
    assert!(heads(&s).starts_with(" NAMEv           SCHED "), "{}", heads(&s));
    assert!(s.quit().success());

    // Whatever is wrong with the file is said, and the list is as by default.
    std::fs::write(&file, "columns = [").unwrap();
    let mut s = open(tree.path(), state.path());
    assert!(heads(&s).contains("SIZE SCHED"), "{}", heads(&s));
    s.keys("7");
    s.wait_for("view.toml is not used");
    assert!(s.quit().success());
}

#[test]
fn a_place_that_can_not_be_written_costs_a_notice_and_nothing_else() {
    let tree = support::fixtures::sysroot("linux-6.18-loop");
    let state = tempfile::tempdir().unwrap();
    std::fs::write(state.path().join("blktune"), "a file where the directory should be").unwrap();
    let mut s = open(tree.path(), state.path());
    s.keys("o");
    s.wait_for("Columns: the default ones");
    s.keys(" \r");
    s.wait_until("SIZE gone", |t| t.contains(" NAME            SCHED"));
    s.keys("7");
    s.wait_for("view.toml is not used");
    s.wait_for("what you chose is forgotten at the end");
    assert!(s.quit().success());
}
