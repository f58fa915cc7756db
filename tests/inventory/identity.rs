//! Who a device is when its name changes: what the screen follows, and what it does not.

use blktune::app::fleet::Entry;
use blktune::app::message::Message;
use blktune::app::screens::devices::{Chosen, chosen_device};
use blktune::sys::device::Device;

use crate::support::model::{Screen, device, name, sample};

fn screen(devices: &[Device], chosen: &str) -> Screen {
    let mut s = Screen::bare(100, 30, false);
    s.model.devices.choose = Some(name(chosen));
    s.send(Message::Inventory(devices.to_vec()));
    s.send(sample(devices, 1.0));
    assert_eq!(chosen_name(&s), chosen);
    s
}

fn chosen_name(s: &Screen) -> String {
    chosen_device(&s.model).unwrap().device.name().kernel()
}

fn two() -> Vec<Device> {
    vec![device("sda", 0), device("sdb", 16)]
}

#[test]
fn choice_and_past_follow_a_device_that_is_renamed() {
    let mut s = screen(&two(), "sdb");
    let past = |s: &Screen| chosen_device(&s.model).unwrap().history.clone().map(|h| format!("{h:?}"));
    let before = past(&s);
    assert!(before.is_some());
    let mut renamed = two();
    renamed[1].id.name = name("sdq");
    s.send(Message::Inventory(renamed));
    assert_eq!(chosen_name(&s), "sdq");
    assert_eq!(past(&s), before);
    assert_eq!(s.model.fleet.entries().len(), 2, "nothing went and nothing is new");
    // Again, though what is chosen was named otherwise.
    let mut again = two();
    again[1].id.name = name("sdz");
    s.send(Message::Inventory(again));
    assert_eq!(chosen_name(&s), "sdz");
}

#[test]
fn a_mapper_name_is_no_identity() {
    let mut all = two();
    all[1] = device("dm-0", 16);
    all[1].dm_name = Some("vg0-old".to_owned());
    let mut s = screen(&all, "dm-0");
    all[1].dm_name = Some("vg0-new".to_owned());
    s.send(Message::Readings(vec![all[1].clone()]));
    let chosen = chosen_device(&s.model).unwrap();
    assert_eq!(chosen.device.dm_name.as_deref(), Some("vg0-new"));
    assert!(chosen.live() && chosen.history.is_some());
    assert_eq!(s.model.fleet.entries().len(), 2);
}

#[test]
fn a_disk_that_comes_back_under_another_name_is_a_new_queue() {
    let mut all = two();
    all[1].id.wwid = Some("naa.5000c50000000001".to_owned());
    let mut s = screen(&all, "sdb");
    let mut back = all[1].clone();
    back.id.name = name("sdc");
    back.id.diskseq = Some(99);
    s.send(Message::Inventory(vec![all[0].clone(), back.clone()]));
    let old = chosen_device(&s.model).unwrap();
    assert!(!old.live(), "the choice stays on what went, struck out");
    assert_eq!(old.device.name(), &name("sdb"));
    let new = s.model.fleet.get(&back.id).unwrap();
    assert!(new.live() && new.history.is_none(), "its counters begin anew");
}

#[test]
fn a_reading_of_another_device_under_the_same_name_takes_its_place() {
    let mut s = screen(&two(), "sdb");
    let mut other = device("sdb", 16);
    other.id.diskseq = Some(500);
    s.send(Message::Readings(vec![other.clone(), device("sdx", 300)]));
    let named: Vec<bool> =
        s.model.fleet.entries().iter().filter(|e| e.device.name() == &name("sdb")).map(Entry::live).collect();
    assert_eq!(named.len(), 2);
    assert!(s.model.fleet.get(&other.id).unwrap().live());
    assert!(!chosen_device(&s.model).unwrap().live(), "the choice does not pass to a namesake");
    let unknown = s.model.fleet.entries().iter().any(|e| e.device.name() == &name("sdx"));
    assert!(!unknown, "names come with an inventory alone");
}

#[test]
fn without_a_sequence_number_the_name_decides() {
    let mut all = two();
    all[1].id.diskseq = None;
    let old = all[1].id.clone();
    let mut s = screen(&all, "sdb");
    all[1].id.name = name("sdq");
    assert!(!old.same_device(&all[1].id));
    s.send(Message::Inventory(all));
    assert!(!chosen_device(&s.model).unwrap().live());
    assert!(matches!(&s.model.devices.chosen, Some(Chosen::Device(id)) if id.name == name("sdb")));
}

#[test]
fn a_hidden_path_is_looked_at_but_not_run_on() {
    use blktune::app::key::Key;
    use blktune::app::message::Level;
    let mut all = two();
    all[1] = device("nvme3c2n1", 16);
    all[1].hidden = true;
    all[1].path = None;
    let mut s = Screen::bare(100, 30, false);
    s.send(Message::Rights(Ok(())));
    s.send(Message::Inventory(all));
    s.model.devices.folds.unused = true;
    s.model.devices.choose = Some(name("nvme3c2n1"));
    s.send(Message::Notice(Level::Info, "x".to_owned()));
    assert_eq!(chosen_name(&s), "nvme3c2n1");
    for key in [Key::Char('3'), Key::Enter, Key::Enter] {
        s.send(Message::Key(key));
    }
    assert!(s.model.run.is_none(), "a run was started");
    let said = s.model.status.as_ref().map(|s| s.text.clone()).unwrap_or_default();
    assert!(said.contains("nvme3c2n1 is a path of a multipath device and has no node"), "{said}");
}

#[test]
fn the_paths_of_a_head_are_folded_into_it_and_shown_on_demand() {
    let mut all = vec![device("nvme3n1", 0), device("nvme3c0n1", 16), device("nvme3c1n1", 32)];
    for path in &mut all[1..] {
        path.hidden = true;
        path.path = None;
    }
    all[0].built_on = vec![name("nvme3c0n1"), name("nvme3c1n1")];
    let mut s = Screen::bare(80, 24, false);
    s.send(Message::Inventory(all));
    let listed = |s: &Screen| s.lines()[2..8].join("\n");
    assert!(!listed(&s).contains("nvme3c0n1") && !listed(&s).contains("unused"), "{}", s.text());
    s.keys(" ");
    let at = |t: &str| s.lines()[..8].iter().position(|l| l.contains(t));
    let head = at(">nvme3n1").unwrap();
    assert_eq!((at("   nvme3c0n1"), at("   nvme3c1n1")), (Some(head + 1), Some(head + 2)), "{}", s.text());
    s.keys(" ");
    assert!(!listed(&s).contains("nvme3c0n1"), "{}", s.text());
    // A path that is asked for is found below its head.
    s.keys("/c1n1<Enter>");
    assert!(s.text().contains(">nvme3n1") && s.text().contains("   nvme3c1n1"), "{}", s.text());
}

#[test]
fn the_list_follows_a_stack_to_its_end() {
    use blktune::sys::device::{Usage, UsageKind};
    use blktune::sys::layer::Layer;
    let mut all = vec![device("sda", 0), device("dm-0", 16), device("dm-1", 32)];
    all[0].used_by = vec![Usage::new(UsageKind::Holder, "dm-0")];
    all[1].layer = Some(Layer::Crypt("luks".to_owned()));
    all[1].used_by = vec![Usage::new(UsageKind::Holder, "dm-1")];
    all[2].layer = Some(Layer::Lvm { vg: "vg0".to_owned(), lv: "root".to_owned() });
    let mut s = Screen::bare(120, 30, false);
    s.send(Message::Inventory(all.clone()));
    assert!(s.line_with(" sda ").contains("crypt > vg0"), "{}", s.text());
    all[2].used_by = vec![Usage::new(UsageKind::Mount, "/")];
    s.send(Message::Inventory(all));
    assert!(s.line_with(" sda ").contains("crypt > vg0 > /"), "{}", s.text());
}
