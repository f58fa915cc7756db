//! The screen's source on a record, in place of sampler and watcher: reads the file, sends what its host's would have
//! sent, at the pace that is asked for.

mod axis;
mod devices;
mod pace;

use std::cell::Cell;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender};

use self::axis::Axis;
use self::devices::Devices;
use self::pace::{Pace, gap};
use super::event::Event;
use super::record_reader::RecordReader;
use super::watcher::Ask;
use crate::app::message::{Level, Message};
use crate::app::replay::{ReplayOrder, ReplayState};
use crate::clock::Clock;
use crate::sys::attr::clean;
use crate::sys::name::KernelName;
use crate::sys::root::SysRoot;
use crate::telemetry::recording::thinning::Thinning;
use crate::telemetry::recording::{Line, RecordedHost, time_of_day};
use crate::telemetry::total;
use crate::telemetry::tracker::RateTracker;
use crate::units::Nanos;

/// With more events than this waiting for the loop no more are sent, so that a key is answered at once however fast
/// the record goes.
const BACKLOG: usize = 64;
/// How long the loop is then given.
const BREATH: Duration = Duration::from_millis(5);
/// Wait where nothing is due.
const LONG: Duration = Duration::from_hours(1);

/// Why nothing can be changed on the screen of a record.
pub const LOOKED_AT: &str = "a record can be looked at, not changed";

/// The time of day that the screen shows: that of the newest sample.
#[derive(Clone, Debug, Default)]
pub struct RecordedWall(Arc<Mutex<String>>);

impl RecordedWall {
    /// As it is to be shown.
    #[must_use]
    pub fn shown(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, text: &str) {
        text.clone_into(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// A record and where it is.
pub struct Replay {
    name: String,
    reader: RecordReader,
    thinning: Thinning,
    tracker: RateTracker,
    devices: Devices,
    watched: Vec<KernelName>,
    wall: RecordedWall,
    pace: Pace,
    axis: Axis,
    /// The sample that is shown next, and its place.
    next: Option<(Line, Nanos)>,
    /// Recorded time of the first and of the newest sample, and the place of that.
    first: Nanos,
    newest: Nanos,
    place: Nanos,
    host: RecordedHost,
    interval: Option<Nanos>,
    told: bool,
}

/// What a record is opened with.
pub struct ReplayOpening<'a> {
    /// The file, for its name.
    pub file: &'a Path,
    /// The same, opened.
    pub reader: RecordReader,
    /// A captured tree whose devices are shown in place of the record's own.
    pub tree: Option<SysRoot>,
    /// Only samples that are this far apart are shown.
    pub interval: Option<Nanos>,
}

impl Replay {
    /// Reads the first sample. None if there is none.
    ///
    /// # Errors
    /// The file can not be read.
    pub fn open(opening: ReplayOpening<'_>, now: Nanos) -> std::io::Result<Option<Self>> {
        let ReplayOpening { file, reader, tree, interval } = opening;
        let name = file.file_name().unwrap_or(file.as_os_str());
        let mut replay = Self {
            name: clean(name.as_encoded_bytes()),
            reader,
            thinning: Thinning::new(interval),
            tracker: RateTracker::default(),
            devices: Devices::new(tree),
            watched: Vec::new(),
            wall: RecordedWall::default(),
            pace: Pace::new(now),
            axis: Axis::default(),
            next: None,
            first: Nanos(0),
            newest: Nanos(0),
            place: Nanos(0),
            host: RecordedHost::default(),
            interval,
            told: false,
        };
        let Some(first) = replay.read()? else { return Ok(None) };
        replay.first = first.monotonic;
        replay.newest = first.monotonic;
        replay.host = first.host.clone().unwrap_or_default();
        replay.next = Some((first, Nanos(0)));
        Ok(Some(replay))
    }

    /// The host that recorded, as far as the record says.
    #[must_use]
    pub fn host(&self) -> &RecordedHost {
        &self.host
    }

    /// The time between the first two samples, or what was asked for; None with one sample.
    #[must_use]
    pub fn interval(&self) -> Option<Nanos> {
        let (next, _) = self.next.as_ref()?;
        self.interval.or_else(|| Some(gap(self.newest, next.monotonic)).filter(|g| g.0 > 0))
    }

    /// The clock of the newest sample.
    #[must_use]
    pub fn wall(&self) -> RecordedWall {
        self.wall.clone()
    }

    /// Runs until the loop stops listening.
    pub fn run(
        mut self,
        clock: &dyn Clock,
        events: &Sender<Event>,
        orders: &Receiver<ReplayOrder>,
        asks: &Receiver<Ask>,
    ) {
        let open = Cell::new(true);
        let mut send = |message| open.set(open.get() && events.send(Event::Message(message)).is_ok());
        loop {
            let now = clock.monotonic();
            let due = self.due();
            let crowded = events.len() > BACKLOG;
            if due.is_some_and(|due| due <= now) {
                if crowded {
                    // What can not be shown in time is shown late, not all at once.
                    self.pace.jump(self.place, now);
                } else {
                    self.deliver(&mut send);
                }
            }
            let wait = match self.due() {
                Some(_) if crowded => BREATH,
                Some(due) => due.since(clock.monotonic()).duration(),
                None => LONG,
            };
            crossbeam_channel::select! {
                recv(orders) -> order => match order {
                    Ok(order) => self.obey(order, clock.monotonic(), &mut send),
                    Err(_) => return,
                },
                recv(asks) -> ask => match ask {
                    Ok(ask) => self.answer(ask, &mut send),
                    Err(_) => return,
                },
                default(wait) => {}
            }
            if !open.get() {
                return;
            }
        }
    }

    /// When the next sample is due; None if there is none or nothing moves.
    #[must_use]
    pub fn due(&self) -> Option<Nanos> {
        self.next.as_ref().and_then(|(_, place)| self.pace.due(*place))
    }

    /// Shows the next sample.
    pub fn deliver(&mut self, send: &mut dyn FnMut(Message)) {
        let Some((line, place)) = self.next.take() else { return };
        let sample = line.sample();
        let when = self.axis.take(&line);
        (self.newest, self.place) = (line.monotonic, place);
        self.wall.set(&self.time_shown(&line));
        if let Some(devices) = self.devices.changed(&line, &sample) {
            send(Message::Inventory(devices));
            self.send_queues(send);
        }
        if let Some(frame) = self.tracker.next(&sample) {
            let total = Some(Box::new(total::total(&frame, &line.leaves()).rates));
            let rows = frame.devices.into_iter().map(|d| (d.key, d.rates)).collect();
            send(Message::Rates { at: frame.monotonic, when, rows, total });
        }
        match self.read() {
            Ok(next) => {
                let gap = next.as_ref().map_or(Nanos(0), |n| gap(line.monotonic, n.monotonic));
                self.next = next.map(|n| (n, Nanos(place.0.saturating_add(gap.0))));
            }
            Err(e) => send(Message::Notice(Level::Error, format!("{}: {e}", self.name))),
        }
        send(Message::Replay(self.state()));
        if self.next.is_none() && !std::mem::replace(&mut self.told, true) {
            for words in self.reader.findings().in_words() {
                send(Message::Notice(Level::Warning, format!("{}: {words}", self.name)));
            }
        }
    }

    /// Does what the person asks for.
    pub fn obey(&mut self, order: ReplayOrder, now: Nanos, send: &mut dyn FnMut(Message)) {
        match order {
            ReplayOrder::Play => self.pace.set_playing(true, now),
            ReplayOrder::Pause => self.pace.set_playing(false, now),
            ReplayOrder::Speed(speed) => self.pace.set_speed(speed, now),
            ReplayOrder::Step => {
                self.deliver(send);
                self.pace.jump(self.place, now);
            }
            ReplayOrder::Skip(time) => {
                let to = Nanos(self.pace.place(now).max(self.place).0.saturating_add(time.0));
                while self.next.as_ref().is_some_and(|(_, place)| *place <= to) {
                    self.deliver(send);
                }
                self.pace.jump(to, now);
            }
        }
        send(Message::Replay(self.state()));
    }

    fn answer(&mut self, ask: Ask, send: &mut dyn FnMut(Message)) {
        match ask {
            Ask::Watch(names) => {
                self.watched = names;
                self.send_queues(send);
            }
            Ask::ReadQueue(name) => self.send_queue(&name, send),
            Ask::Wake => {}
        }
    }

    fn send_queues(&self, send: &mut dyn FnMut(Message)) {
        for name in &self.watched {
            self.send_queue(name, send);
        }
    }

    fn send_queue(&self, name: &KernelName, send: &mut dyn FnMut(Message)) {
        if let Some(state) = self.devices.queue(name) {
            send(Message::Queue { device: name.clone(), state });
        }
    }

    /// Where the record is.
    #[must_use]
    pub fn state(&self) -> ReplayState {
        let ended = self.next.is_none();
        ReplayState {
            record: self.name.clone(),
            at: self.newest,
            playing: self.pace.playing() && !ended,
            speed: self.pace.speed(),
            ended,
        }
    }

    fn read(&mut self) -> std::io::Result<Option<Line>> {
        while let Some(line) = self.reader.next_line()? {
            if self.thinning.takes(line.monotonic) {
                return Ok(Some(line));
            }
        }
        Ok(None)
    }

    /// The recorded time of day to the minute, as the screen shows it live; without one the time since the record began.
    fn time_shown(&self, line: &Line) -> String {
        if let Some(time) = line.wall.as_deref().and_then(time_of_day) {
            return time.get(..5).unwrap_or(time).to_owned();
        }
        let minutes = line.monotonic.since(self.first).0 / Nanos::SECOND.0 / 60;
        format!("+{}:{:02}", minutes / 60, minutes % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    const fn s(n: u64) -> Nanos {
        Nanos(n * 1_000_000_000)
    }

    /// Samples at these seconds; `sda` does 100 reads in each.
    fn replay(times: &[u64]) -> Replay {
        let line = |(i, t): (usize, &u64)| {
            format!("{{\"t_s\": {t}, \"diskstats\": \"8 0 sda {} 0 8 0 0 0 0 0 0 0 0\\n\"}}\n", i * 100)
        };
        let text = times.iter().enumerate().map(line).collect::<Vec<_>>().concat();
        let reader = RecordReader::new(Cursor::new(text)).unwrap();
        let opening = ReplayOpening { file: Path::new("dir/r.gz"), reader, tree: None, interval: None };
        Replay::open(opening, s(1000)).unwrap().unwrap()
    }

    fn sent(work: impl FnOnce(&mut dyn FnMut(Message))) -> Vec<Message> {
        let mut all = Vec::new();
        work(&mut |m| all.push(m));
        all
    }

    /// The recorded seconds of the samples among these messages.
    fn times(messages: &[Message]) -> Vec<u64> {
        let at = |m: &Message| match m {
            Message::Rates { at, .. } => Some(at.0 / 1_000_000_000),
            _ => None,
        };
        messages.iter().filter_map(at).collect()
    }

    fn last_state(messages: &[Message]) -> &ReplayState {
        messages.iter().rev().find_map(|m| if let Message::Replay(s) = m { Some(s) } else { None }).unwrap()
    }

    #[test]
    fn samples_are_due_as_they_were_taken() {
        let mut r = replay(&[50, 51, 53]);
        let mut due = Vec::new();
        while let Some(at) = r.due() {
            due.push(at.0 / 1_000_000_000);
            let _ = sent(|send| r.deliver(send));
        }
        assert_eq!(due, [1000, 1001, 1003]);
        assert!(r.state().ended && !r.state().playing);
    }

    #[test]
    fn a_first_sample_comes_with_its_devices_and_where_the_record_is() {
        let mut r = replay(&[50, 51]);
        let first = sent(|send| r.deliver(send));
        assert!(matches!(&first[0], Message::Inventory(d) if d.len() == 1 && d[0].name().sysfs() == "sda"));
        assert!(matches!(&first[1], Message::Rates { rows, .. } if rows[0].1.read_iops.is_none()));
        let state =
            ReplayState { record: "r.gz".to_owned(), at: s(50), playing: true, speed: 1.0, ended: false };
        assert_eq!(last_state(&first), &state);
        let second = sent(|send| r.deliver(send));
        assert!(matches!(&second[0], Message::Rates { rows, .. } if rows[0].1.read_iops == Some(100.0)));
    }

    #[test]
    fn orders_are_obeyed_and_answered() {
        let mut r = replay(&(0..200).collect::<Vec<_>>());
        let _ = sent(|send| r.deliver(send));
        let order = |r: &mut Replay, order, now| sent(|send| r.obey(order, now, send));
        let paused = order(&mut r, ReplayOrder::Pause, s(1000));
        assert!(!last_state(&paused).playing && r.due().is_none());
        assert_eq!(times(&order(&mut r, ReplayOrder::Step, s(1010))), [1]);
        assert!(r.due().is_none(), "a step does not play");
        assert_eq!(times(&order(&mut r, ReplayOrder::Skip(s(60)), s(1020))), (2..=61).collect::<Vec<_>>());
        order(&mut r, ReplayOrder::Speed(10.0), s(1030));
        let played = order(&mut r, ReplayOrder::Play, s(1040));
        assert_eq!((last_state(&played).speed, last_state(&played).at), (10.0, s(61)));
        assert_eq!(r.due(), Some(Nanos(1_040_100_000_000)));
        let rest = order(&mut r, ReplayOrder::Skip(s(10_000)), s(1050));
        assert!(times(&rest).len() == 138 && last_state(&rest).ended);
        assert_eq!(times(&order(&mut r, ReplayOrder::Step, s(1060))), [0; 0]);
    }

    #[test]
    fn a_gap_and_a_second_boot_are_not_waited_for() {
        let mut r = replay(&[50, 5000, 3, 4]);
        let mut due = Vec::new();
        while let Some(at) = r.due() {
            due.push(at.0 / 1_000_000_000);
            let _ = sent(|send| r.deliver(send));
        }
        assert_eq!(due, [1000, 1060, 1061, 1062]);
    }

    #[test]
    fn the_clock_is_that_of_the_record() {
        let mut r = replay(&[50, 50 + 3 * 3600 + 125]);
        let wall = r.wall();
        for shown in ["+0:00", "+3:02"] {
            let _ = sent(|send| r.deliver(send));
            assert_eq!(wall.shown(), shown);
        }
        let line = Line { wall: Some("2026-12-02T09:08:57+01:00".to_owned()), ..Line::default() };
        assert_eq!(r.time_shown(&line), "09:08");
    }

    #[test]
    fn orders_come_through_the_channel_while_the_clock_stands_still() {
        let clock = Arc::new(crate::clock::ManualClock::default());
        let (events, inbox) = crossbeam_channel::unbounded();
        let (order, orders) = crossbeam_channel::unbounded();
        let (_ask, asks) = crossbeam_channel::unbounded();
        let r = replay(&(50..60).collect::<Vec<_>>());
        let its = Arc::clone(&clock);
        let thread = std::thread::spawn(move || r.run(&*its, &events, &orders, &asks));
        let until = |done: &dyn Fn(&ReplayState) -> bool| loop {
            match inbox.recv_timeout(Duration::from_secs(20)).unwrap() {
                Event::Message(Message::Replay(state)) if done(&state) => return state,
                _ => {}
            }
        };
        order.send(ReplayOrder::Pause).unwrap();
        until(&|s| !s.playing);
        order.send(ReplayOrder::Step).unwrap();
        let at = until(&|_| true).at;
        order.send(ReplayOrder::Skip(s(3))).unwrap();
        until(&|s| s.at.0 == at.0 + 3_000_000_000);
        drop(order);
        thread.join().unwrap();
    }
}
