//! What people met in the field: refused schedulers, read-ahead in odd units, missing rights.

use std::cell::RefCell;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use blktune::sys::attr::AttrError;
use blktune::sys::queue::{Attribute, QueueState};
use blktune::tuning::apply::Cause;
use blktune::tuning::catalogue::{Legal, known_side_effects, rows};
use blktune::tuning::change::Outcome;
use blktune::tuning::control::QueueControl;

use super::fake::FakeQueue;
use super::support::fixtures::sysroot;
use super::support::{blktune, loop_device};
use super::{carry_out, only, set};

/// A queue of one scheduler file that takes no other scheduler.
struct Fixed(QueueState, RefCell<Vec<String>>);

impl Fixed {
    fn new(scheduler: &str, zoned: &str) -> Self {
        let mut state = QueueState::default();
        for (name, value) in [("scheduler", scheduler), ("zoned", zoned), ("read_ahead_kb", "128")] {
            let writable = name != "zoned";
            state.attributes.insert(name.to_owned(), Attribute { value: Some(value.to_owned()), writable });
        }
        Self(state, RefCell::default())
    }
}

impl QueueControl for Fixed {
    fn read(&self) -> QueueState {
        self.0.clone()
    }

    fn write(&self, name: &str, value: &str) -> Result<(), AttrError> {
        self.1.borrow_mut().push(format!("{name}={value}"));
        let source = io::Error::from_raw_os_error(libc::EINVAL);
        Err(AttrError { path: PathBuf::from(name), value: Some(value.to_owned()), source })
    }
}

#[test]
fn a_refused_scheduler_is_named_with_what_is_offered_in_every_form_of_the_file() {
    for (file, zoned, active, offered) in [
        ("noop deadline [cfq]", "none", "cfq", Some("noop deadline cfq")),
        ("[none] mq-deadline", "none", "none", Some("none mq-deadline")),
        ("none", "none", "none", None),
        ("[mq-deadline] none", "host-managed", "mq-deadline", Some("mq-deadline none")),
    ] {
        let q = Fixed::new(file, zoned);
        let row = rows(&q.0, None).into_iter().find(|r| r.name == "scheduler").unwrap();
        assert_eq!((row.value.as_deref(), row.writable), (Some(active), offered.is_some()), "{file}");
        let a = carry_out(&q, "scheduler=bfq");
        assert_eq!((only(&a), a.cause), ((Outcome::Refused, active), Some(Cause::Value)), "{file}");
        assert!(a.report.rolled_back && a.after == q.0, "{file}");
        let said = a.report.changes[0].message.clone().unwrap();
        if let Some(offered) = offered {
            let words: Vec<String> = offered.split(' ').map(str::to_owned).collect();
            assert_eq!(row.legal, Legal::Choice(words), "{file}");
            assert_eq!(q.1.borrow().as_slice(), ["scheduler=bfq"], "{file}: it may be in a module");
            assert!(said.contains(offered) && said.contains("bfq may be in a module"), "{file}: {said}");
        } else {
            assert_eq!((row.legal, q.1.borrow().len()), (Legal::Fixed, 0), "{file}");
            assert!(said.contains("no scheduler to choose"), "{said}");
        }
    }
}

#[test]
fn leaving_mq_deadline_on_a_host_managed_disk_is_warned_of() {
    let zoned = Fixed::new("[mq-deadline] none", "host-managed").0;
    let warned = |text: &str, state: &QueueState| {
        known_side_effects(&set(text), state).iter().any(|t| t.contains("order") && t.contains("zone"))
    };
    assert!(warned("scheduler=none", &zoned) && warned("scheduler=bfq", &zoned));
    assert!(!warned("scheduler=mq-deadline", &zoned) && !warned("scheduler=deadline", &zoned));
    assert!(!warned("scheduler=none", &Fixed::new("[mq-deadline] none", "none").0));
    assert!(!warned("scheduler=mq-deadline", &Fixed::new("mq-deadline [none]", "host-managed").0));
}

#[test]
fn five_kib_of_read_ahead_are_four_and_no_error() {
    if rustix::param::page_size() != 4096 {
        return;
    }
    let a = carry_out(&FakeQueue::new(), "read_ahead_kb=5");
    assert_eq!(only(&a), (Outcome::Clamped, "4"));
    assert_eq!(a.report.changes[0].message.as_deref(), Some("set to 4 KiB (whole pages)"));
}

#[test]
fn read_ahead_of_a_partition_is_that_of_the_disk_and_told_so() {
    let tree = sysroot("linux-6.12-qemu");
    let dir = tree.path().display().to_string();
    let (mut command, _home) = blktune();
    let output =
        command.args(["set", "vda1", "read_ahead_kb=512", "--dry-run", "--sysroot", &dir]).output().unwrap();
    let (said, warned) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{warned}");
    assert!(said.starts_with("vda read_ahead_kb"), "{said}");
    assert!(warned.contains("vda1 is a partition") && warned.contains("the whole device vda"), "{warned}");
}

/// `blktune set NAME read_ahead_kb=64` under `wrapper`: exit code and what it said on stderr.
fn set_under(wrapper: &[&str], name: &str) -> (Option<i32>, String) {
    // Where anybody may run it, whatever the rights of the directory it was built in.
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = dir.path().join("blktune");
    fs::copy(assert_cmd::cargo::cargo_bin!("blktune"), &program).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let output = Command::new(wrapper[0])
        .args(&wrapper[1..])
        .arg(&program)
        .args(["set", name, "read_ahead_kb=64"])
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_read_only_mount_missing_rights_and_none_of_both_are_told_apart() {
    let Some(d) = loop_device(4) else { return };
    d.put("read_ahead_kb", "128");
    // A mount of this process alone; the host's stays as it is.
    let sealed = [
        "unshare",
        "--mount",
        "sh",
        "-c",
        "mount --bind /sys /sys && mount -o remount,bind,ro /sys && exec \"$@\"",
        "sh",
    ];
    let (code, said) = set_under(&sealed, &d.kernel());
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("mounted read-only") && !said.contains("sudo"), "{said}");
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"];
    let (code, said) = set_under(&nobody, &d.kernel());
    assert_eq!(code, Some(4), "{said}");
    assert!(["sudo", "doas", "run0"].iter().all(|w| said.contains(w)) && !said.contains("mounted"), "{said}");
    assert_eq!(d.get("read_ahead_kb"), "128");
    // Root without the variables that sudo sets.
    let (code, said) = set_under(&["env"], &d.kernel());
    assert_eq!((code, d.get("read_ahead_kb").as_str()), (Some(0), "64"), "{said}");
    let (mut undo, _home) = blktune();
    undo.args(["undo", &d.kernel()]).assert().success();
}
