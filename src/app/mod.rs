//! L4: the state of the screen, without a screen.
//!
//! [`message::Message`] goes into [`update::update`], which changes the [`model::Model`] and answers with
//! [`effect::Effect`]s for the runtime to carry out. Nothing here reads a clock, a file or a terminal.

pub mod actions;
pub mod back;
pub mod columns;
pub mod dialogs;
pub mod effect;
pub mod entries;
mod experimented;
pub mod filter;
pub mod fleet;
pub mod key;
pub mod layout;
mod listing;
pub mod look;
pub mod mark;
pub mod message;
pub mod model;
pub mod order;
mod outcome;
pub mod parting;
pub mod past;
pub mod place;
pub mod purpose;
pub mod replay;
pub mod report;
pub mod run;
pub mod screens;
pub mod timeline;
pub mod update;
mod view;
