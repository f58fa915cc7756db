//! A device under an experiment of this program: what its settings read is the experiment's doing, and goes back.

use super::effect::Effect;
use super::fleet::Entry;
use super::mark::{Mark, What};
use super::message::Message;
use super::model::Model;
use super::past::Moment;

/// Takes in the beginning or the end of an experiment, as far as the device is concerned.
pub(super) fn take(model: &mut Model, message: &Message) -> Vec<Effect> {
    let seen = model.seen();
    match message {
        Message::ExperimentBegan(beginning) => {
            if let Some(entry) = model.fleet.get_mut(&beginning.device) {
                entry.experiment_begins(seen);
            }
            Vec::new()
        }
        Message::ExperimentEnded(_) => {
            let mut effects = Vec::new();
            for entry in model.fleet.entries_mut().iter_mut().filter(|e| e.experimented) {
                entry.experiment_ends(seen);
                effects.push(Effect::ReadQueue(entry.device.name().clone()));
            }
            effects
        }
        _ => Vec::new(),
    }
}

impl Entry {
    /// From here on its settings are an experiment's. What they read now is what they go back to.
    fn experiment_begins(&mut self, seen: Moment) {
        self.experimented = true;
        self.before_work.clone_from(&self.queue);
        self.note_experiment(seen, "experiment begins");
    }

    /// Its settings are back. What reads otherwise than at the beginning from now on is somebody else's doing.
    fn experiment_ends(&mut self, seen: Moment) {
        self.experimented = false;
        self.note_experiment(seen, "experiment ended");
    }

    fn note_experiment(&mut self, seen: Moment, what: &str) {
        self.marks.push(Mark { seen, what: What::Note(what.to_owned()) });
    }

    /// The entry as it will be once a running experiment has put back its settings; itself if there is none.
    pub(super) fn put_back(&self) -> Self {
        let mut entry = self.clone();
        if entry.experimented {
            entry.experimented = false;
            entry.queue = entry.before_work.take().or(entry.queue);
        }
        entry
    }
}
