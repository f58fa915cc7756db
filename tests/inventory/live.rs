//! Real devices, as they come, go, and are used.

use std::fs::{File, OpenOptions};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use blktune::app::effect::Effect;
use blktune::app::fleet::Entry;
use blktune::app::message::{HostLine, Message};
use blktune::app::screens::devices::chosen_device;
use blktune::runtime::event::Event;
use blktune::runtime::sampler;
use blktune::runtime::watcher::{self, Ask, Watcher};
use blktune::sys::device::{Device, Usage, UsageKind};
use blktune::sys::host::Host;
use blktune::sys::inventory::{read, scan};
use blktune::sys::name::KernelName;
use blktune::sys::root::SysRoot;
use blktune::sys::usage::Users;

use crate::support::loop_device;
use crate::support::loopdev::within_seconds;
use crate::support::model::Screen;

/// Ends a process of the test's own, however the test ends.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn users_of(name: &KernelName) -> Vec<Usage> {
    let root = SysRoot::host();
    read(&root, name, &Users::read(&root)).unwrap().used_by
}

fn sleeper(stdin: File) -> Ended {
    Ended(Command::new("sleep").arg("300").stdin(stdin).spawn().unwrap())
}

#[test]
fn whoever_has_a_device_open_is_named_but_not_this_program() {
    let Some(device) = loop_device(4) else { return };
    let own = device.open();
    let opened = || {
        let mut words: Vec<String> = users_of(device.name())
            .into_iter()
            .filter(|u| u.kind == UsageKind::Open)
            .map(|u| u.to_string())
            .filter(|w| w.contains("sleep"))
            .collect();
        words.sort();
        words
    };
    assert!(opened().is_empty());
    let reader = sleeper(device.open());
    let writer = sleeper(OpenOptions::new().read(true).write(true).open(device.node()).unwrap());
    let (r, w) = (reader.0.id(), writer.0.id());
    let mut expected =
        [format!("open by sleep ({r}) for reading"), format!("open by sleep ({w}) for writing")];
    expected.sort();
    assert!(within_seconds(5, || opened() == expected), "{:?}", opened());
    let me = format!("({})", std::process::id());
    assert!(users_of(device.name()).iter().all(|u| !u.what.contains(&me)), "{:?}", users_of(device.name()));
    drop((reader, writer, own));
    assert!(within_seconds(5, || opened().is_empty()), "{:?}", opened());
}

#[test]
fn a_mount_in_another_namespace_is_found_and_says_whose() {
    let Some(device) = loop_device(8) else { return };
    let made = Command::new("mke2fs").args(["-q", "-F"]).arg(device.node()).status().unwrap();
    assert!(made.success());
    let dir = tempfile::tempdir().unwrap();
    let point = dir.path().display().to_string();
    let script = format!("mount -o ro {} {point} && exec sleep 300", device.dev());
    let mut there = Command::new("unshare");
    there.args(["--mount", "--propagation", "private", "sh", "-c", &script]).stdin(Stdio::null());
    let there = Ended(there.spawn().unwrap());
    let expected = Usage::new(UsageKind::Mount, point.as_str())
        .with(format!("in the namespace of {} sleep", there.0.id()));
    assert!(
        within_seconds(10, || users_of(device.name()).contains(&expected)),
        "{:?} has no {expected:?}",
        users_of(device.name())
    );
    drop(there);
    let mounted = || users_of(device.name()).iter().any(|u| u.kind == UsageKind::Mount);
    assert!(within_seconds(10, || !mounted()), "{:?}", users_of(device.name()));
}

/// The screen's state with the threads that feed it, without a terminal.
struct Live {
    screen: Screen,
    inbox: crossbeam_channel::Receiver<Event>,
    asks: watcher::Asks,
}

impl Live {
    fn start() -> Self {
        let root = SysRoot::host();
        let (events, inbox) = crossbeam_channel::bounded(4096);
        let (asks, asked) = watcher::asks();
        let devices: Vec<Device> = scan(&root).unwrap();
        let mut screen = Screen::bare(120, 60, false);
        screen.send(Message::Inventory(devices.clone()));
        let watch = Watcher::new(root.clone(), events.clone(), asked, devices);
        thread::spawn(move || watch.run());
        let line = HostLine { interval: Duration::from_millis(200), ..HostLine::default() };
        thread::spawn(move || sampler::run(&root, &events, Host::read(&SysRoot::host()), line));
        Self { screen, inbox, asks }
    }

    /// Carries messages and what is to be watched for that long or until the state is as wanted.
    fn until(&mut self, seconds: u64, mut wanted: impl FnMut(&mut Self) -> bool) -> bool {
        within_seconds(seconds, || {
            while let Ok(event) = self.inbox.recv_timeout(Duration::from_millis(5)) {
                if let Event::Message(message) = event {
                    self.screen.send(message);
                }
            }
            for effect in self.screen.effects.drain(..) {
                if let Effect::Watch(names) = effect {
                    self.asks.send(Ask::Watch(names)).unwrap();
                }
            }
            wanted(self)
        })
    }

    fn named(&self, name: &KernelName) -> Vec<&Entry> {
        self.screen.model.fleet.entries().iter().filter(|e| e.device.name() == name).collect()
    }

    fn alive(&self, name: &KernelName) -> Option<&Entry> {
        self.named(name).into_iter().find(|e| e.live())
    }
}

/// A device bound by losetup, for it takes the number it is told.
struct Bound(String);

impl Drop for Bound {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.0]).status();
        // Making a device removes numbers that are left unbound.
        drop(loop_device(1));
    }
}

#[test]
fn devices_come_and_go_and_a_name_used_again_is_another_device() {
    let Some(first) = loop_device(4) else { return };
    let mut live = Live::start();
    let (name, node) = (first.name().clone(), first.dev());
    first.put("read_ahead_kb", "1024");
    live.screen.model.devices.choose = Some(name.clone());
    assert!(live.until(5, |l| l.alive(&name).is_some_and(|e| e.queue.is_some())), "never read");
    assert_eq!(chosen_device(&live.screen.model).unwrap().device.name(), &name);
    // One more comes while it runs.
    let second = loop_device(4).unwrap();
    let name2 = second.name().clone();
    assert!(live.until(2, |l| l.alive(&name2).is_some()), "{name2} did not appear within 2 s");
    drop(second);
    assert!(live.until(2, |l| l.alive(&name2).is_none()), "{name2} is shown after 2 s as if it were there");
    assert!(live.named(&name2)[0].gone_since.is_some(), "struck out, not dropped at once");

    // Enough reads that a difference to a new device's counters would be negative.
    let read_some = || {
        let mut c = Command::new("dd");
        c.args([&format!("if={node}"), "of=/dev/null", "bs=4k", "iflag=direct", "status=none"]);
        assert!(c.status().unwrap().success());
    };
    read_some();
    let figures = |l: &mut Live| {
        l.alive(&name).is_some_and(|e| e.rates.as_ref().is_some_and(|r| r.read_iops.is_some()))
    };
    assert!(live.until(5, figures), "no rates");
    let before = live.alive(&name).unwrap().device.id.clone();
    drop(first);
    assert!(live.until(2, |l| l.alive(&name).is_none()), "still shown as there");
    let chosen = chosen_device(&live.screen.model).unwrap();
    assert_eq!((chosen.device.name(), chosen.live()), (&name, false), "the choice stays on what went");

    // The same name, another device.
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(8 << 20).unwrap();
    let status = Command::new("losetup").arg(&node).arg(file.path()).status().unwrap();
    assert!(status.success(), "losetup {node}");
    let _bound = Bound(node.clone());
    assert!(
        live.until(2, |l| l.alive(&name).is_some_and(|e| e.device.size.0 == 8 << 20)),
        "not back within 2 s"
    );
    assert!(live.until(5, |l| l.alive(&name).is_some_and(|e| e.queue.is_some())), "its queue was never read");
    assert!(live.until(5, figures), "its rates never came");
    let now = live.alive(&name).unwrap();
    assert!(!now.device.id.same_device(&before), "{:?} and {before:?}", now.device.id);
    let queue = now.queue.as_ref().unwrap();
    assert_ne!(queue.effective("read_ahead_kb").as_deref(), Some("1024"), "the queue of the one before");
    assert_eq!(now.changed("read_ahead_kb"), None, "nobody changed the new one");
    let rates = now.rates.as_ref().unwrap();
    assert!(rates.read_iops.unwrap() < 1000.0, "{rates:?}");
    let chosen = chosen_device(&live.screen.model).unwrap();
    assert!(!chosen.device.id.same_device(&now.device.id), "the choice does not pass to a namesake");
}

#[test]
fn a_file_bound_anew_under_the_same_number_is_another_device() {
    let Some(device) = loop_device(4) else { return };
    let mut live = Live::start();
    let (name, node) = (device.name().clone(), device.dev());
    assert!(live.until(5, |l| l.alive(&name).is_some_and(|e| e.queue.is_some())), "never read");
    drop(device);
    // Between two polls: nobody sees the name missing.
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(4 << 20).unwrap();
    assert!(Command::new("losetup").arg(&node).arg(file.path()).status().unwrap().success());
    let _bound = Bound(node.clone());
    let renewed = |l: &mut Live| {
        l.named(&name).iter().any(|e| !e.live()) && l.alive(&name).is_some_and(|e| e.queue.is_some())
    };
    assert!(
        live.until(5, renewed),
        "{:?}",
        live.named(&name).iter().map(|e| &e.device.id).collect::<Vec<_>>()
    );
}
