//! `--sandbox` as the library makes it: a device that reads real blocks, and nothing left of it.

mod support;

use std::ops::ControlFlow;

use std::os::unix::fs::FileExt;

use blktune::sandbox::Sandbox;
use blktune::units::Bytes;
use support::loopdev::{Footprint, is_content};

#[test]
fn a_sandbox_is_a_filled_device_and_is_gone_afterwards() {
    if !support::privileged("a_sandbox_is_a_filled_device_and_is_gone_afterwards") {
        return;
    }
    let size = Bytes((66 << 20) + 1);
    let mut heard = Vec::new();
    let sandbox = Sandbox::create(size, None, &mut |done, total| {
        heard.push((done.0, total.0));
        ControlFlow::Continue(())
    })
    .unwrap();
    let whole = (66 << 20) + 4096;
    assert!(heard.is_sorted() && heard.len() > 2, "{heard:?}");
    assert_eq!((heard[0], heard[heard.len() - 1]), ((0, whole), (whole, whole)));
    let Sandbox::Device(device) = &sandbox else { panic!("root gets a device") };
    let name = device.name().clone();
    assert_eq!(sandbox.name(), Some(&name));
    let (file, mut bytes) = (std::fs::File::open(sandbox.node()).unwrap(), vec![0; 4096]);
    file.read_exact_at(&mut bytes, whole - 4096).unwrap();
    assert!(is_content(whole - 4096, &bytes));
    drop(file);
    let footprint = Footprint::of(&name);
    sandbox.remove().unwrap();
    assert!(!footprint.is_left(), "{name} is left");
}
