//! L5: draws the model. Reads it, changes nothing, and is the only place but the runtime that knows ratatui.

mod chart;
mod choosing;
mod course;
mod device_panel;
mod devices;
mod dialogs;
mod entries;
mod experiment;
mod footer;
mod head;
mod messages;
mod run;
mod settings;
mod text;
mod trials;
mod workload;

use ratatui::Frame;

use crate::app::layout;
use crate::app::model::{Model, Screen};
use crate::config::theme::{Role, Theme};

use text::Pen;

/// Draws the whole screen. Any size will do; below the least there is one line that says so.
pub fn render(model: &Model, theme: &Theme, frame: &mut Frame<'_>) {
    let area = frame.area();
    let mut pen = Pen::new(frame.buffer_mut(), theme, model.ascii);
    if layout::too_small(area.width, area.height) {
        let (w, h) = (layout::LEAST_WIDTH, layout::LEAST_HEIGHT);
        let line = format!("terminal too small: {}x{}, need {w}x{h}", area.width, area.height);
        pen.put(area.x, area.y, area.width, &line, Role::Text);
        return;
    }
    let parts = layout::parts(area.width, area.height);
    head::draw(model, &mut pen, parts.head);
    match (model.screen, &model.run) {
        (Screen::Devices, _) => devices::draw(model, &mut pen, area),
        (Screen::Settings, _) => settings::draw(model, &mut pen, area),
        (Screen::Workload, Some(run)) => run::draw(run, &mut pen, parts.body),
        (Screen::Experiment, _) => match &model.course {
            Some(course) => course::draw(course, model, &mut pen),
            None => experiment::draw(model, &mut pen, parts.body),
        },
        (Screen::Workload, None) => workload::draw(model, &mut pen, area),
        (Screen::Messages, _) => messages::draw(model, &mut pen, parts.body),
    }
    footer::status(model, &mut pen, parts.status);
    footer::keys(model, &mut pen, parts.foot);
    for dialog in &model.dialogs {
        dialogs::draw(dialog, model, &mut pen, area);
    }
}
