//! L1: everything that touches the kernel, without policy.

pub mod attr;
pub mod chain;
pub mod device;
pub mod diskstats;
pub mod elsewhere;
#[cfg(debug_assertions)]
pub mod fault;
pub mod host;
pub mod inventory;
pub mod kind;
pub mod layer;
pub mod leaf;
pub mod loopdev;
mod mounts;
pub mod name;
pub mod process;
pub mod queue;
pub mod root;
pub mod scratch;
pub mod signature;
pub mod staged;
pub mod syscall;
pub mod usage;
