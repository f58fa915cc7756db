//! What the runtime tells of the experiment that goes on.

use crate::app::dialogs::{Busied, Dialog};
use crate::app::message::{ExperimentEnd, Level, Message, NotBegun};
use crate::app::model::{Model, Screen};
use crate::experiment::event::{Ending, Event};

use super::course::Course;

/// Takes in a message of the experiment. Without one that goes on there is nobody to tell.
pub fn take(model: &mut Model, message: Message) {
    let Some(course) = model.course.as_mut().filter(|c| c.going()) else { return };
    match message {
        Message::ExperimentBegan(beginning) => course.begin(*beginning),
        Message::Experiment(event) => {
            let said = worth_saying(&event).map(|(level, text)| (level, format!("{}: {text}", name(course))));
            course.take(*event);
            if let Some((level, text)) = said {
                say(model, level, text);
            }
        }
        Message::ExperimentProgress(p) => course.progress = Some(*p),
        Message::ExperimentAnalysis(analysis) => course.analysis = Some(analysis),
        Message::ExperimentEnded(result) => ended(model, result),
        _ => {}
    }
}

/// `A/B on sda`
fn name(course: &Course) -> String {
    format!("A/B on {}", course.design().device)
}

/// What stays among the messages. A look is as it should be; the rest is not.
fn worth_saying(event: &Event) -> Option<(Level, String)> {
    let level = if matches!(event, Event::Look { .. }) { Level::Info } else { Level::Warning };
    event.sentence().map(|text| (level, text))
}

fn ended(model: &mut Model, result: Result<Box<ExperimentEnd>, NotBegun>) {
    let Some(course) = model.course.as_mut() else { return };
    let name = name(course);
    course.top = 0;
    course.stopping = false;
    course.trial = None;
    course.phase = None;
    course.progress = None;
    let said = match &result {
        Ok(end) => sentence(end),
        Err(NotBegun::Stopped) => (Level::Info, NotBegun::Stopped.to_string()),
        Err(why) => (Level::Error, format!("it did not begin: {why}")),
    };
    // The question whether to stop has answered itself; the wish to leave has not.
    model.dialogs.retain(|d| !matches!(d, Dialog::Leave { quit: false, .. }));
    match result {
        // It is asked below what is open, so that no key answers it unseen.
        Err(NotBegun::Busy(text)) => {
            let then = model.course.take().map(|c| Busied::Experiment(c.order));
            model.dialogs.splice(..0, then.map(|then| Dialog::Busy { text, start: false, then }));
            return;
        }
        Err(NotBegun::Stopped) => model.course = None,
        result => course.ended = Some(result),
    }
    say(model, said.0, format!("{name}: {}", said.1));
}

/// Says it; not in the line below where the screen shows it already.
fn say(model: &mut Model, level: Level, text: String) {
    let before = model.status.take();
    model.say(level, text);
    if model.screen == Screen::Experiment && model.course.is_some() {
        model.status = before;
    }
}

/// The end in one line.
fn sentence(end: &ExperimentEnd) -> (Level, String) {
    if !end.not_restored.is_empty() {
        return (Level::Error, format!("could not be put back: {}", end.not_restored.join("; ")));
    }
    match end.ending {
        Ending::Decided | Ending::Finished => (Level::Info, end.analysis.sentence().to_owned()),
        Ending::Stopped => (Level::Info, end.reason.clone()),
        Ending::Invalid => (Level::Warning, end.analysis.sentence().to_owned()),
        Ending::Refused | Ending::Gone | Ending::Broken => (Level::Error, end.reason.clone()),
    }
}
