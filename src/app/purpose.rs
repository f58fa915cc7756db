//! Why a queue is written: changes, their undo, or their redo. All three are shown as a diff first.

use crate::sys::device::DeviceId;

use super::effect::Effect;

/// Why a queue is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// What is staged is written.
    Apply,
    /// The last kept change that is not undone is taken back.
    Undo,
    /// What was undone last is done again.
    Redo,
}

impl Purpose {
    /// The word for it.
    #[must_use]
    pub const fn noun(self) -> &'static str {
        match self {
            Purpose::Apply => "changes",
            Purpose::Undo => "undo",
            Purpose::Redo => "redo",
        }
    }

    /// What finds out what it would write; None for staged changes, which the screen knows itself.
    #[must_use]
    pub fn look_up(self, device: DeviceId) -> Option<Effect> {
        match self {
            Purpose::Apply => None,
            Purpose::Undo => Some(Effect::PlanUndo { device }),
            Purpose::Redo => Some(Effect::PlanRedo { device }),
        }
    }
}
