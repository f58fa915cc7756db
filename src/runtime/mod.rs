//! L6: threads, terminal, signals, and the loop that ties them to the pure state.

pub mod conductor;
pub mod control;
mod device_facts;
mod devices;
pub mod event;
pub mod event_loop;
pub mod experiment;
pub mod hold;
pub mod inbox;
pub mod input;
pub mod keeper;
pub mod kernel_bench;
pub mod outside;
pub mod record_reader;
pub mod recorder;
pub mod recording;
pub mod replay;
pub mod sampler;
pub mod screen;
pub mod signals;
pub mod stop;
pub mod supervisor;
pub mod terminal;
pub mod thread;
mod users;
pub mod view_file;
pub mod watcher;
