//! What is listed: captured kernels against lsblk's own words and against expectations written by hand, trees made by hand
//! for what they lack, and real devices that come and go.

// A test's functions fail the test by panicking.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../support/mod.rs"]
mod support;

mod expected;
mod identity;
mod live;
mod lsblk;
mod made;
mod staged;

use std::collections::BTreeMap;

use blktune::sys::device::Device;
use blktune::sys::inventory::scan;
use support::fixtures::sysroot;

/// The devices of a captured tree, by kernel name.
fn devices(kernel: &str) -> BTreeMap<String, Device> {
    let fixture = sysroot(kernel);
    scan(&fixture.root).unwrap().into_iter().map(|d| (d.name().kernel(), d)).collect()
}
