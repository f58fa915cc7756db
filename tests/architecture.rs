//! The rules of the house, checked on every file; each with snippets that prove the check can fail.

// Functions beside the tests are parts of tests.
#![allow(clippy::panic)]

#[path = "architecture/source.rs"]
mod source;

use source::{Source, project, tokens};

/// Who may use whom: module, and the modules of ours it may name besides itself. A module that is not listed is a
/// finding, so a new one gets its layer here, and docs/architecture.md is where the layers are explained.
const LAYERS: &[(&str, &[&str])] = &[
    // L0
    ("units", &[]),
    ("clock", &["units"]),
    ("stats", &["units"]),
    // L1
    ("sys", &["units", "clock"]),
    ("config", &["units", "clock", "sys"]),
    // L2: not one another
    ("telemetry", &["units", "clock", "sys"]),
    ("tuning", &["units", "clock", "sys"]),
    ("workload", &["units", "clock", "sys"]),
    // L3
    ("trial", &["units", "clock", "sys", "telemetry", "tuning", "workload"]),
    ("experiment", &["units", "clock", "stats", "sys", "telemetry", "tuning", "workload", "trial"]),
    ("record", &["units", "clock", "stats", "sys", "telemetry", "tuning", "workload", "trial", "experiment"]),
    ("report", &["units", "stats", "sys", "workload", "trial", "experiment", "record"]),
    ("sandbox", &["units", "clock", "sys"]),
    // L4 and L5: values only, so not even a clock
    ("app", &["units", "stats", "sys", "config", "telemetry", "tuning", "workload", "trial", "experiment"]),
    (
        "ui",
        &["units", "stats", "sys", "config", "telemetry", "tuning", "workload", "trial", "experiment", "app"],
    ),
    // L6
    ("runtime", EVERYTHING),
    ("cli", EVERYTHING),
];
const EVERYTHING: &[&str] = &["*"];

/// The files that may hold `unsafe`.
const UNSAFE: &[&str] = &[
    "src/sys/syscall.rs",
    "src/workload/buffer.rs",
    "src/workload/engine/io_uring/mod.rs",
    // An allocator that counts.
    "tests/allocations.rs",
];
/// What neither the app nor the ui may name.
const IMPURE: [&[&str]; 5] =
    [&["std", "fs"], &["std", "thread"], &["std", "net"], &["Instant", "now"], &["SystemTime", "now"]];
/// Longest file, in lines.
const LONGEST: usize = 600;
/// Longest `main.rs`.
const LONGEST_MAIN: usize = 30;

/// A rule: what it finds in one file, as line and words.
type Check = fn(&Source) -> Vec<(usize, String)>;
/// A file that a self-test makes up: path and text.
type Snippet = (&'static str, &'static str);

struct Rule {
    name: &'static str,
    check: Check,
    /// Each must be found.
    bad: &'static [Snippet],
    /// None may be found.
    good: &'static [Snippet],
}

const RULES: &[Rule] = &[
    Rule {
        name: "layers",
        check: layers,
        bad: &[
            ("src/units.rs", "use crate::sys::attr;"),
            ("src/telemetry/rates.rs", "use crate::{units::Nanos, tuning::{change, catalogue}};"),
            ("src/workload/engine/psync.rs", "fn f() { crate::config::theme::load() }"),
            ("src/workload/engine/psync.rs", "use super::super::super::tuning::change;"),
            ("src/tuning/mod.rs", "use super::workload::job::Job;"),
            ("src/ui/mod.rs", "use crate::runtime::terminal;"),
            ("src/trial/mod.rs", "pub use crate::cli::outcome as o;"),
            ("src/app/mod.rs", "use crate::clock::SystemClock;"),
            ("src/novelty.rs", "//! A module without a layer."),
        ],
        good: &[
            (
                "src/trial/mod.rs",
                "use crate::{sys::{name::KernelName, root as r}, workload::job::Job, units};",
            ),
            ("src/sys/queue.rs", "use super::attr; pub(crate) fn f() {} // crate::cli::x"),
            (
                "src/sys/mod.rs",
                "#[cfg(test)]\nmod tests { use crate::cli::outcome; fn f() { let a = '{'; } }",
            ),
            ("src/cli/run.rs", "use crate::runtime::headless;"),
            ("src/lib.rs", "use crate::cli;"),
            ("src/units.rs", "const TEXT: &str = \"crate::sys::attr\"; /* crate::cli::x */"),
        ],
    },
    Rule {
        name: "app and ui only think",
        check: pure,
        bad: &[
            ("src/app/model.rs", "use std::fs;"),
            ("src/app/model.rs", "use std::{io, thread::spawn};"),
            ("src/ui/list.rs", "let t = Instant::now();"),
            ("src/app/model.rs", "let t = std::time::SystemTime::now();"),
        ],
        good: &[
            ("src/app/model.rs", "use std::time::{Duration, Instant}; fn f(now: Instant) {}"),
            ("src/runtime/sampler.rs", "use std::{fs, thread};"),
        ],
    },
    Rule {
        name: "the terminal's crates stay in their rooms",
        check: terminal_crates,
        bad: &[
            ("src/ui/list.rs", "use ratatui::crossterm::event;"),
            ("src/app/keys.rs", "use crossterm::event::KeyCode;"),
            ("src/app/model.rs", "use ratatui::layout::Rect;"),
            ("src/cli/list.rs", "fn f(a: ratatui::layout::Rect) {}"),
        ],
        good: &[
            ("src/runtime/input.rs", "use crossterm::event; use ratatui::Terminal;"),
            ("src/app/layout.rs", "use ratatui::layout::Rect;"),
            ("src/ui/list.rs", "use ratatui::Frame; // not crossterm"),
        ],
    },
    Rule {
        name: "only sys/root.rs knows where the kernel's files are",
        check: kernel_paths,
        bad: &[
            ("src/telemetry/sample.rs", r#"let p = "/proc/diskstats";"#),
            ("src/cli/list.rs", r#"let p = format!("/dev/{name}");"#),
            ("src/sys/host.rs", "let p = r\"/sys\";"),
        ],
        good: &[
            ("src/sys/root.rs", r#"let p = "/sys/block";"#),
            ("src/cli/list.rs", r#"let e = "/dev and /sys are not mounted";"#),
            ("src/cli/list.rs", r#"let e = "/device"; // "/sys""#),
            ("src/cli/list.rs", "#[cfg(test)]\nmod tests { const P: &str = \"/sys/block\"; }"),
            ("tests/loopdev.rs", r#"let p = "/sys/block";"#),
        ],
    },
    Rule {
        name: "unsafe stays at the edge",
        check: edges,
        bad: &[
            ("src/sys/attr.rs", "fn f() { unsafe { g() } }"),
            ("tests/screens.rs", "unsafe fn f() {}"),
            ("src/ui/mod.rs", "#![allow(unsafe_code)] // because"),
        ],
        good: &[
            ("src/sys/syscall.rs", "#![allow(unsafe_code)] fn f() { unsafe { g() } }"),
            ("src/ui/mod.rs", "/// Not unsafe. \nconst A: &str = \"unsafe\";"),
        ],
    },
    Rule {
        name: "only the command line of a run arms a device",
        check: arming,
        bad: &[
            ("src/runtime/conductor.rs", "use crate::workload::guard::Arming;"),
            ("src/workload/target.rs", "fn f() { let a = Arming { device, destroy }; }"),
            ("src/workload/guard.rs", "fn f() -> Arming { Arming { device, destroy } }"),
        ],
        good: &[
            (
                "src/cli/run.rs",
                "use crate::workload::guard::Arming; fn f() { g(&Arming { device, destroy }) }",
            ),
            ("src/workload/guard.rs", "pub struct Arming { pub device: String }"),
            ("src/workload/target.rs", "fn f(arming: &Arming) {}"),
        ],
    },
    Rule {
        name: "only main chooses the exit code",
        check: exits,
        bad: &[
            ("src/cli/run.rs", "fn f() -> ! { std::process::exit(1) }"),
            ("src/cli/run.rs", "use std::process::{Command, exit};"),
            ("src/main.rs", "use std::process; fn f() { process::exit(2) }"),
            ("src/cli/mod.rs", "use std::process::ExitCode;"),
        ],
        good: &[
            ("src/main.rs", "fn main() -> std::process::ExitCode { std::process::ExitCode::SUCCESS }"),
            ("src/cli/run.rs", "fn f(c: &mut std::process::Child) { exit(c) }"),
        ],
    },
    Rule {
        name: "no file grows long",
        check: length,
        bad: &[("src/main.rs", TOO_LONG_FOR_MAIN)],
        good: &[("src/cli/run.rs", TOO_LONG_FOR_MAIN)],
    },
    Rule {
        name: "a module is named after its subject",
        check: names,
        bad: &[
            ("src/sys/utils.rs", "//! Odds and ends."),
            ("src/helpers/mod.rs", "//! Odds and ends."),
            ("src/sys/mod.rs", "pub mod common;"),
            ("tests/common/mod.rs", ""),
        ],
        good: &[("src/sys/mod.rs", "pub mod attr; /* mod utils */ fn common() {}")],
    },
    Rule {
        name: "a file begins with what it is",
        check: head,
        bad: &[("src/sys/mod.rs", "pub mod attr;"), ("src/sys/mod.rs", "// not a doc\n//! Late.")],
        good: &[("src/sys/mod.rs", "//! L1.\npub mod attr;")],
    },
    Rule {
        name: "every test runs",
        check: ignored,
        bad: &[
            ("tests/run.rs", "#[test]\n#[ignore]\nfn f() {}"),
            ("src/units.rs", "#[ignore = \"slow\"]\nfn f() {}"),
        ],
        good: &[("tests/run.rs", "// #[ignore]\nfn f() { ignore() }")],
    },
    Rule {
        name: "an allow says why",
        check: reasons,
        bad: &[
            ("src/units.rs", "#[allow(dead_code)]\nfn f() {}"),
            ("src/units.rs", "/// A doc is no reason.\n#[allow(dead_code)]\nfn f() {}"),
            ("src/units.rs", "#[cfg_attr(test, allow(dead_code))]\nfn f() {}"),
            ("src/units.rs", "#[expect(dead_code)] //\nfn f() {}"),
        ],
        good: &[
            ("src/units.rs", "#[allow(dead_code)] // used on other hosts\nfn f() {}"),
            ("src/units.rs", "// Used on other hosts.\n#[allow(\n    dead_code,\n)]\nfn f() {}"),
            ("src/units.rs", "#[allow(\n    dead_code,\n)] // used on other hosts\nfn f() {}"),
            ("src/units.rs", "#[allow(dead_code, reason = \"used on other hosts\")]\nfn f() {}"),
            ("src/units.rs", "fn f() { x.allow(1); y.expect(\"a reason\"); }"),
        ],
    },
    Rule {
        name: "the project speaks of itself only",
        check: words,
        bad: &[
            ("docs/a.md", concat!("see /wo", "rk/notes")),
            ("docs/a.md", concat!("`/wo", "rk`")),
            ("src/lib.rs", concat!("//! ../sha", "red/x")),
            (".ci/run", concat!("cd /tmp/", "wt/x")),
        ],
        good: &[(
            "docs/a.md",
            concat!("src/workload/job.rs, a/wo", "rk/b, /wo", "rkload, ../sha", "redness is a word"),
        )],
    },
];

const TOO_LONG_FOR_MAIN: &str = "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n";

#[test]
fn the_house_is_in_order() {
    let files = project();
    assert!(files.iter().any(|f| f.path == "src/lib.rs") && files.len() > 20, "the files are not found");
    let findings: Vec<String> = RULES
        .iter()
        .flat_map(|rule| {
            files.iter().flat_map(move |f| {
                let found = (rule.check)(f);
                found.into_iter().map(move |(line, what)| format!("{}:{line}: {}: {what}", f.path, rule.name))
            })
        })
        .collect();
    assert!(findings.is_empty(), "\n{}", findings.join("\n"));
}

#[test]
fn every_rule_catches_what_it_forbids_and_nothing_else() {
    for rule in RULES {
        assert!(!rule.bad.is_empty() && !rule.good.is_empty(), "{}: unproved", rule.name);
        for (path, text) in rule.bad {
            let found = (rule.check)(&Source::new(path, text));
            assert!(!found.is_empty(), "{}: not caught in {path}: {text}", rule.name);
        }
        for (path, text) in rule.good {
            let found = (rule.check)(&Source::new(path, text));
            assert!(found.is_empty(), "{}: {found:?} in {path}: {text}", rule.name);
        }
    }
}

#[test]
fn a_file_of_601_lines_is_too_long() {
    let text = |lines: usize| "\n".repeat(lines);
    assert!(length(&Source::new("src/sys/attr.rs", &text(LONGEST))).is_empty());
    assert!(!length(&Source::new("src/sys/attr.rs", &text(LONGEST + 1))).is_empty());
    assert!(!length(&Source::new("tests/list.rs", &text(LONGEST + 1))).is_empty());
    assert!(length(&Source::new("tests/fixtures/a.json", &text(LONGEST + 1))).is_empty());
}

#[test]
fn the_scanner_tells_code_from_comments_and_literals() {
    let text = "a /* b /* c */ d */ \"e\\\"f\" 'g' r#\"h\"i\"# b'\\'' j::<'k>() 'é' '\\u{1f600}' // l\nm";
    let words: Vec<&str> = {
        let code = &Source::new("src/x.rs", text).code;
        tokens(code).into_iter().map(|t| t.1.to_owned().leak() as &str).collect()
    };
    let words: Vec<&str> = words.into_iter().filter(|w| w.chars().all(char::is_alphanumeric)).collect();
    assert_eq!(words, ["a", "r", "b", "j", "k", "m"]);
    let strings = Source::new("src/x.rs", text).strings;
    assert_eq!(strings, [(1, "e\\\"f".to_owned()), (1, "h\"i".to_owned())]);
}

fn layers(s: &Source) -> Vec<(usize, String)> {
    let Some(module) = s.module().filter(|_| s.is_rust()) else { return Vec::new() };
    let Some((_, allowed)) = LAYERS.iter().find(|(m, _)| *m == module) else {
        return vec![(1, format!("module {module} has no layer; add it to LAYERS"))];
    };
    let may = |other: &str| *allowed == EVERYTHING || other == module || allowed.contains(&other);
    s.paths()
        .into_iter()
        .filter(|(_, p)| p[0] == "crate" && p.get(1).is_some_and(|other| !may(other)))
        .map(|(line, p)| (line, format!("{module} may not know {}", p.join("::"))))
        .collect()
}

fn pure(s: &Source) -> Vec<(usize, String)> {
    if !matches!(s.module(), Some("app" | "ui")) {
        return Vec::new();
    }
    let impure = |p: &[String]| IMPURE.iter().any(|bad| p.windows(2).any(|w| w == *bad));
    s.paths().into_iter().filter(|(_, p)| impure(p)).map(|(line, p)| (line, p.join("::"))).collect()
}

fn terminal_crates(s: &Source) -> Vec<(usize, String)> {
    if !s.path.starts_with("src/") || s.module() == Some("runtime") {
        return Vec::new();
    }
    let may_draw = s.module() == Some("ui") || s.path == "src/app/layout.rs";
    found_words(s, |w| w == "crossterm" || (w == "ratatui" && !may_draw))
}

fn kernel_paths(s: &Source) -> Vec<(usize, String)> {
    if s.path == "src/sys/root.rs" || !s.path.starts_with("src/") || !s.is_rust() {
        return Vec::new();
    }
    let below = |text: &str, root: &str| {
        text.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    s.strings
        .iter()
        .filter(|(_, text)| ["/sys", "/proc", "/dev"].iter().any(|root| below(text, root)))
        // With blanks it is a sentence, not a path.
        .filter(|(_, text)| !text.contains(' '))
        .map(|(line, text)| (*line, format!("{text:?}; ask SysRoot")))
        .collect()
}

fn edges(s: &Source) -> Vec<(usize, String)> {
    if UNSAFE.contains(&s.path.as_str()) {
        Vec::new()
    } else {
        found_words(s, |w| w == "unsafe" || w == "unsafe_code")
    }
}

/// Who may write to a whole device is for a person to say, in words, at that moment.
fn arming(s: &Source) -> Vec<(usize, String)> {
    if s.path == "src/cli/run.rs" || !s.path.starts_with("src/") {
        return Vec::new();
    }
    let known = matches!(s.path.as_str(), "src/workload/guard.rs" | "src/workload/target.rs");
    let lines = s.production.lines().zip(1..).filter(|(line, _)| line.contains("Arming"));
    let made = |line: &str| line.contains("Arming {") && !line.contains("struct Arming {");
    lines.filter(|(line, _)| !known || made(line)).map(|(line, at)| (at, line.trim().to_owned())).collect()
}

fn exits(s: &Source) -> Vec<(usize, String)> {
    let ends = |p: &[String]| p.windows(2).any(|w| w == ["process", "exit"] || w == ["process", "abort"]);
    let calls = s.paths().into_iter().filter(|(_, p)| ends(p)).map(|(line, p)| (line, p.join("::")));
    let codes = if s.path == "src/main.rs" || !s.path.starts_with("src/") {
        Vec::new()
    } else {
        found_words(s, |w| w == "ExitCode")
    };
    calls.chain(codes).collect()
}

fn length(s: &Source) -> Vec<(usize, String)> {
    let lines = s.text.lines().count();
    let most = if s.path == "src/main.rs" { LONGEST_MAIN - 1 } else { LONGEST };
    if s.is_rust() && lines > most {
        vec![(lines, format!("{lines} lines; at most {most}"))]
    } else {
        Vec::new()
    }
}

fn names(s: &Source) -> Vec<(usize, String)> {
    if !s.is_rust() {
        return Vec::new();
    }
    let vague =
        |w: &str| matches!(w, "util" | "utils" | "helper" | "helpers" | "manager" | "common" | "misc");
    let in_path = s.path.split(['/', '.']).filter(|p| vague(p)).map(|p| (1, p.to_owned()));
    let tokens = tokens(&s.code);
    let declared = tokens.windows(2).filter(|w| w[0].1 == "mod" && vague(w[1].1));
    in_path.chain(declared.map(|w| (w[1].0, format!("mod {}", w[1].1)))).collect()
}

fn head(s: &Source) -> Vec<(usize, String)> {
    if !s.is_rust() || s.text.starts_with("//!") {
        return Vec::new();
    }
    vec![(1, "no `//!` in the first line".to_owned())]
}

fn ignored(s: &Source) -> Vec<(usize, String)> {
    if !s.is_rust() {
        return Vec::new();
    }
    let tokens = tokens(&s.code);
    let found = tokens.windows(3).filter(|w| w[0].1 == "#" && w[1].1 == "[" && w[2].1 == "ignore");
    found.map(|w| (w[0].0, "an ignored test".to_owned())).collect()
}

/// `allow` and `expect` in attributes need a comment beside them or in the line before, or a `reason`.
fn reasons(s: &Source) -> Vec<(usize, String)> {
    if !s.is_rust() {
        return Vec::new();
    }
    let text: Vec<&str> = s.text.lines().collect();
    let tokens = tokens(&s.code);
    let mut findings = Vec::new();
    for (start, _) in tokens.iter().enumerate().filter(|(_, t)| t.1 == "#") {
        let open = start + 1 + usize::from(tokens.get(start + 1).is_some_and(|t| t.1 == "!"));
        if tokens.get(open).is_none_or(|t| t.1 != "[") {
            continue;
        }
        let length = tokens[open..].iter().position(|t| t.1 == "]").unwrap_or(0);
        let attribute = &tokens[open..open + length];
        let lenient = |w: &[(usize, &str)]| matches!(w[0].1, "allow" | "expect") && w[1].1 == "(";
        if !attribute.windows(2).any(lenient) {
            continue;
        }
        let (first, last) = (tokens[start].0, tokens[open + length].0);
        let comment = |line: &str| {
            let after = line.split_once("//").map_or("", |(_, c)| c);
            !after.starts_with(['/', '!']) && !after.trim().is_empty()
        };
        let before = first.checked_sub(2).map_or("", |i| text[i]);
        let said = before.trim_start().starts_with("//") && comment(before)
            || text[first - 1..last].iter().any(|l| comment(l))
            || attribute.iter().any(|t| t.1 == "reason");
        if !said {
            findings.push((first, "no reason beside it".to_owned()));
        }
    }
    findings
}

fn words(s: &Source) -> Vec<(usize, String)> {
    // Put together here, or this file would be the first finding.
    let places =
        [concat!("/wo", "rk"), concat!("../sha", "red"), concat!("/tmp/", "wt"), concat!("/fa", "rm")];
    let name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let whole = |line: &str, at: usize, place: &str| {
        !line[..at].ends_with(|c: char| name(c) || c == '.') && !line[at + place.len()..].starts_with(name)
    };
    let lines = s.text.lines().enumerate();
    lines
        .flat_map(|(i, line)| {
            let hits =
                places.iter().filter(move |p| line.match_indices(**p).any(|(at, _)| whole(line, at, p)));
            hits.map(move |p| (i + 1, format!("names {p}")))
        })
        .collect()
}

fn found_words(s: &Source, wanted: impl Fn(&str) -> bool) -> Vec<(usize, String)> {
    if !s.is_rust() {
        return Vec::new();
    }
    tokens(&s.code).into_iter().filter(|(_, w)| wanted(w)).map(|(line, w)| (line, w.to_owned())).collect()
}
