//! The README shows what the program shows.

use std::path::Path;

/// The body of a snapshot, without what insta writes above it.
fn snapshot(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/snapshots/{name}.snap"));
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    text.splitn(3, "---\n").nth(2).unwrap_or_default().trim_end().to_owned()
}

#[test]
fn its_picture_is_the_screen_of_the_snapshots() {
    let readme = include_str!("../README.md");
    for name in ["screens__devices-80x24", "screens__changes-80x24", "screens_compared__compared-going-80x24"]
    {
        let screen = snapshot(name);
        assert!(screen.lines().count() > 10, "{name}: no snapshot");
        assert!(readme.contains(&screen), "the README does not show {name} as it is now:\n{screen}");
    }
}

#[test]
fn its_commands_are_those_of_the_program() {
    let readme = include_str!("../README.md");
    let out = std::process::Command::new(env!("CARGO_BIN_EXE_blktune")).arg("--help").output();
    let help = String::from_utf8(out.map(|o| o.stdout).unwrap_or_default()).unwrap_or_default();
    let commands =
        help.lines().skip_while(|l| !l.starts_with("Commands:")).skip(1).take_while(|l| !l.is_empty());
    let names: Vec<&str> = commands.filter_map(|l| l.split_whitespace().next()).collect();
    assert!(names.contains(&"list") && names.len() >= 7, "{names:?}");
    for name in names {
        assert!(readme.contains(&format!("blktune {name}")), "the README does not name `blktune {name}`");
    }
}
