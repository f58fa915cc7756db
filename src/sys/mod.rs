//! L1: everything that touches the kernel, without policy.

pub mod attr;
pub mod device;
pub mod diskstats;
pub mod host;
pub mod inventory;
pub mod kind;
pub mod loopdev;
pub mod name;
pub mod queue;
pub mod root;
pub mod scratch;
pub mod syscall;
pub mod usage;
