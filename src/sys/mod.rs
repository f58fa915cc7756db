//! L1: everything that touches the kernel, without policy.

pub mod attr;
pub mod device;
pub mod diskstats;
#[cfg(debug_assertions)]
pub mod fault;
pub mod host;
pub mod inventory;
pub mod kind;
pub mod leaf;
pub mod loopdev;
pub mod name;
pub mod process;
pub mod queue;
pub mod root;
pub mod scratch;
pub mod syscall;
pub mod usage;
