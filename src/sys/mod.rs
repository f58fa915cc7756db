//! L1: everything that touches the kernel, without policy.

pub mod attr;
pub mod cgroup;
pub mod chain;
pub mod cpu;
pub mod device;
pub mod device_lock;
pub mod diskstats;
pub mod elsewhere;
#[cfg(debug_assertions)]
pub mod fault;
pub mod file_system;
pub mod flock;
pub mod host;
pub mod inventory;
pub mod kind;
pub mod layer;
pub mod leaf;
pub mod link;
pub mod loopdev;
pub mod md;
pub mod memory;
mod mounts;
pub mod name;
pub mod page_cache;
pub mod private;
pub mod process;
pub mod process_io;
pub mod queue;
pub mod root;
pub mod scratch;
pub mod signature;
pub mod stack;
pub mod staged;
pub mod syscall;
pub mod temperature;
pub mod usage;
