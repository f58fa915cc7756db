//! Screen 3 in each of its states: presets, the form, a run, its result; what a person must be able to read there, and a
//! picture of it.

mod support;

use blktune::app::effect::{Effect, RunTarget};
use blktune::app::message::Message;
use blktune::units::Bytes;
use blktune::workload::job::Rw;
use blktune::workload::live::Phase;
use blktune::workload::preset::PRESETS;
use support::model::Screen;
use support::runs::{
    finished, finished_overloaded, finished_several, form, go_to, progress, run_started, running,
    running_several, set,
};

const SIZES: [(u16, u16); 3] = [(60, 16), (80, 24), (120, 40)];

/// Compares the screen with its picture at every size.
fn pictures(picture: &str, make: impl Fn(u16, u16) -> Screen) {
    for (width, height) in SIZES {
        let screen = make(width, height);
        insta::assert_snapshot!(format!("{picture}-{width}x{height}"), screen.text());
    }
}

#[test]
fn the_workload_says_what_will_happen() {
    let make = |width, height| {
        let mut s = Screen::live(width, height);
        s.keys("/sdb<Enter>3jj<Enter>jjj");
        s
    };
    pictures("workload", make);
    let text = make(120, 40).text().split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = "reads 4 KiB at random places of sdb, 32 in flight, past the page cache, for 10 s";
    assert!(text.contains(sentence), "{text}");
    assert!(text.contains("nothing is written"), "{text}");
}

#[test]
fn fields_are_stepped_and_typed_and_nonsense_is_refused() {
    let mut s = Screen::live(120, 40);
    s.keys("/sdb<Enter>3<Enter>gjjj<Enter>");
    for _ in 0..10 {
        s.keys("<Backspace>");
    }
    s.keys("0,5<Enter>");
    assert!(s.text().contains("\"0,5\": a size is a whole number of bytes"), "{}", s.text());
    for _ in 0..10 {
        s.keys("<Backspace>");
    }
    s.keys("64k<Enter>");
    assert_eq!(s.model.workload.jobs[0].bs, Bytes(64 << 10));
    s.keys("l");
    assert_eq!(s.model.workload.jobs[0].bs, Bytes(128 << 10));
}

#[test]
fn a_busy_device_is_asked_about() {
    let mut s = Screen::live(80, 24);
    s.keys("/sda<Enter>3<Enter>G<Enter>");
    assert!(s.text().contains("sda is doing 61 I/O per second for others, 61.0 MiB/s"), "{}", s.text());
    assert!(!s.effects.iter().any(|e| matches!(e, Effect::StartRun { .. })));
    s.keys("<Enter>");
    assert!(
        !s.effects.iter().any(|e| matches!(e, Effect::StartRun { .. })),
        "the harmless answer comes first"
    );
    s.keys("<Enter><Tab><Enter>");
    assert!(s.effects.iter().any(|e| matches!(e, Effect::StartRun { busy_ok: true, .. })));
}

#[test]
fn a_run_shows_both_sides() {
    pictures("run", running);
    let s = running(80, 24);
    let text = s.text();
    let legend = s.line_with("engine");
    let (engine, kernel) = (legend.find("█ engine").unwrap(), legend.find("◆ kernel").unwrap());
    assert!(engine < kernel);
    // 4.2e8 bytes per second, and two percent more.
    assert!(legend.contains("engine   401") && legend.contains("kernel   409"), "{legend}");
    for part in [
        "measuring",
        "6 s left",
        "p99.9",
        "1.90 ms",
        "request at the device 4.00 KiB; bs asked for 4 KiB",
        "errors 0",
        "CPU 27% of one",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
}

#[test]
fn leaving_a_run_asks_once() {
    let mut s = running(80, 24);
    s.keys("q<Enter>");
    assert!(!s.effects.iter().any(|e| matches!(e, Effect::StopRun | Effect::Quit)), "stay comes first");
    s.keys("<Esc>");
    assert!(s.text().contains("Stop the run?"));
    s.keys("l<Enter>");
    assert!(s.effects.contains(&Effect::StopRun));
    assert!(!s.effects.contains(&Effect::Quit));
    s.keys("q<Tab><Enter>");
    assert_eq!(s.effects.last(), Some(&Effect::Quit));
}

#[test]
fn a_finished_run_is_summed_up_with_its_warnings() {
    pictures("run-finished", finished);
    let text = finished(80, 24).text();
    for part in ["done", "105k", "410", "8.80 ms", "! 2% of the device's reads were not", "98.0%"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    for (width, height) in SIZES {
        let asked = "reads 4 KiB at random places of sdb, 32 in flight, past the page cache, for 10 s after 1 s of ramp; \
                     nothing is written";
        let s = finished(width, height);
        assert!(flat(&s).contains(asked), "what was asked for is told whole:\n{}", s.text());
    }
    let mut s = finished(80, 24);
    s.keys("<Esc>");
    assert!(s.text().contains("PRESET"));
}

/// All text of the screen as one line, for sentences that are wrapped.
fn flat(s: &Screen) -> String {
    s.text().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The jobs and target of the last start.
fn started(s: &Screen) -> Option<(Vec<blktune::workload::job::Job>, RunTarget)> {
    s.effects.iter().rev().find_map(|e| match e {
        Effect::StartRun { jobs, target, .. } => Some((jobs.clone(), target.clone())),
        _ => None,
    })
}

#[test]
fn every_preset_says_what_it_answers_what_it_is_not_for_and_what_it_does() {
    for p in PRESETS {
        let mut s = form(80, 24, p.name);
        assert!(
            s.line_with(&format!(">{}", p.name)).contains(if p.writes() { " w " } else { "   " }),
            "{}",
            s.text()
        );
        let text = flat(&s);
        assert!(text.contains(if p.direct() { "It is direct and" } else { "It is buffered and" }), "{text}");
        s.keys("i");
        let text = flat(&s).replace(" │ │ ", " ");
        assert!(text.contains("Not for "), "{text}");
        let does = if p.writes() { "writes, to a scratch file made for it." } else { "only reads." };
        assert!(text.contains(does), "{text}");
        s.keys("<Esc><Enter>");
        let (jobs, target) = started(&s).unwrap();
        assert_eq!(jobs, p.jobs());
        assert_eq!(target == RunTarget::Scratch, p.writes(), "{}", p.name);
    }
}

#[test]
fn a_preset_that_writes_is_given_a_scratch_file_and_the_device_is_left_alone() {
    let make = |width, height| {
        let mut s = form(width, height, "randrw-4k-70");
        s.keys("<Home>");
        s
    };
    pictures("workload-writes", make);
    let mut s = make(120, 40);
    assert!(s.line_with(">target").contains("scratch file"));
    let text = flat(&s);
    for part in [
        "reads and writes (70 to 30) 4 KiB at random places of a scratch file, 16 in flight",
        "The file, 1 GiB or a tenth of the free space, is written in full first and removed at the end; sdb is not written to.",
        "may lie in the device's cache and be lost with its power",
        "target: for sdb itself: blktune run --write-device sdb; here a scratch file",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    // Nothing makes the device its target.
    s.keys("l h<Enter>");
    assert!(s.line_with(">target").contains("scratch file"));
    s.keys("<End><Enter>");
    assert_eq!(started(&s).unwrap().1, RunTarget::Scratch);
    // A job that was only reading is moved to a scratch file by its pattern.
    let mut s = form(120, 40, "randread-4k");
    assert!(s.line_with(" target").contains("sdb"));
    set(&mut s, "rw", "randwrite");
    assert!(s.line_with(" target").contains("scratch file"));
    set(&mut s, "rw", "randread");
    assert!(s.line_with(" target").contains("sdb"));
}

#[test]
fn several_jobs_have_a_form_each_and_run_together() {
    let make = |width, height| {
        let mut s = form(width, height, "readers-vs-writer");
        s.keys("<Home>jl");
        s
    };
    pictures("workload-several", make);
    let mut s = make(120, 40);
    assert!(s.line_with(">job").contains("readers / [writer]"), "{}", s.text());
    assert!(s.line_with(" bs ").contains("1 MiB"));
    set(&mut s, "bs", "64k");
    set(&mut s, "runtime", "3");
    go_to(&mut s, "job");
    s.keys("h");
    assert!(s.line_with(" bs ").contains("4 KiB"), "the other job's fields are its own");
    assert!(s.line_with(" runtime").contains("3 s"), "the time is that of the run");
    assert!(flat(&s).contains("writer: writes 64 KiB one after the other"), "{}", s.text());
    s.keys("<End><Enter>");
    let (jobs, _) = started(&s).unwrap();
    assert_eq!(
        jobs.iter().map(|j| (j.name.as_str(), j.bs.0)).collect::<Vec<_>>(),
        [("readers", 4096), ("writer", 65_536)]
    );
}

#[test]
fn the_form_scrolls_to_every_field() {
    let make = |width, height| {
        let mut s = form(width, height, "randwrite-4k");
        go_to(&mut s, "more");
        s.keys("<Enter>");
        go_to(&mut s, "prio");
        s
    };
    pictures("workload-scrolled", make);
    for (width, height) in SIZES {
        let mut s = make(width, height);
        assert!(s.line_with(">prio").contains("none"));
        for key in blktune::workload::keys::KEYS {
            go_to(&mut s, key);
        }
        s.keys("<End>");
        assert!(s.text().contains(">[ start ]"), "{}", s.text());
    }
}

#[test]
fn a_field_without_a_sense_says_why_and_stays() {
    let make = |width, height| {
        let mut s = form(width, height, "seqread-1m");
        go_to(&mut s, "sync");
        s.keys("l");
        s
    };
    pictures("workload-greyed", make);
    let mut s = make(80, 24);
    assert!(
        flat(&s).contains("sync: the job writes nothing, so there is nothing to make safe"),
        "{}",
        s.text()
    );
    s.keys("<Enter>");
    assert_eq!(s.model.workload.jobs, PRESETS[0].jobs(), "nothing was changed");
    assert!(s.model.dialogs.is_empty());
    let buffer = s.buffer();
    let y = u16::try_from(s.lines().iter().position(|l| l.contains(" rwmixread")).unwrap()).unwrap();
    let x = u16::try_from(s.lines()[usize::from(y)].find("rwmixread").unwrap()).unwrap();
    let other = u16::try_from(s.lines().iter().position(|l| l.contains(" numjobs")).unwrap()).unwrap();
    assert_ne!(buffer[(x, y)].style(), buffer[(x, other)].style(), "a greyed field looks like any other");
}

#[test]
fn a_contradiction_is_said_and_not_started_and_taken_back() {
    let mut s = form(120, 40, "commit-4k-dsync");
    set(&mut s, "rw", "randread");
    let why = "rw=randread writes nothing, so there is nothing to make safe";
    assert!(flat(&s).contains(&format!("This can not be run: {why}")), "{}", s.text());
    s.keys("<End><Enter>");
    assert_eq!(started(&s), None);
    assert!(s.lines()[38].contains(why), "{}", s.text());
    // The preset's own value comes back by a key.
    go_to(&mut s, "rw");
    s.keys("x");
    assert_eq!(s.model.workload.jobs[0].rw, Rw::Write);
    assert!(!s.text().contains("can not be run"));
    s.keys("<End><Enter>");
    assert!(started(&s).is_some());
}

#[test]
fn blocks_off_the_step_of_direct_io_are_refused_in_the_form() {
    let mut s = form(120, 40, "randread-4k");
    set(&mut s, "bs", "1000");
    s.keys("<End><Enter>");
    assert_eq!(started(&s), None);
    assert!(s.lines()[38].contains("sdb takes direct I/O in multiples of 512 B only"), "{}", s.text());
    set(&mut s, "direct", "false");
    s.keys("<End><Enter>");
    assert!(started(&s).is_some());
}

#[test]
fn what_is_written_first_is_told_while_it_is() {
    let mut s = run_started(80, 24);
    let mut p = progress(Phase::Preparing, 8, None);
    p.written = Some((Bytes(512 << 20), Bytes(1 << 30)));
    s.send(Message::RunProgress(p));
    assert!(s.text().contains("writing the scratch file, 512 MiB of 1.00 GiB"), "{}", s.text());
}

#[test]
fn a_run_of_several_jobs_shows_each_apart() {
    pictures("run-several", running_several);
    let s = running_several(80, 24);
    // 40 reads of 4 KiB and 30 writes of 1 MiB a tenth of a second.
    let (read, write) = (s.line_with(" readers read"), s.line_with(" writer write"));
    assert!(
        read.contains(" 400 ")
            && read.contains(" 1.56 ")
            && read.contains("900 us")
            && read.contains("7.20 ms"),
        "{read}"
    );
    assert!(write.contains(" 300 ") && write.contains(" 300 ") && write.contains("12.0 ms"), "{write}");
    let total = s.line_with(" total ");
    assert!(total.contains(" 700 ") && total.contains(" 302"), "{total}");
    assert!(
        s.text().contains("errors 2") && s.text().contains("4.00 KiB read, 512 KiB write"),
        "{}",
        s.text()
    );
    // The tallest bar is the step up to 1 ms: 1400 of 3150.
    assert!(s.text().contains("latency, top 44%"), "{}", s.text());
    // Low screens have the charts below what is scrolled.
    let mut s = running_several(60, 16);
    assert!(!s.text().contains("latency, top"));
    s.keys("<End>");
    assert!(s.text().contains("latency, top 44%"), "{}", s.text());
}

#[test]
fn the_result_of_several_jobs_has_everything_within_reach() {
    pictures("run-several-finished", finished_several);
    for (width, height) in SIZES {
        let mut s = finished_several(width, height);
        let mut seen = flat(&s);
        for _ in 0..40 {
            s.keys("j");
            seen.push_str(&flat(&s));
        }
        for part in [
            "readers got 0.5% of the data, fair would be 80.0%: starved",
            "writer got 99.5% of the data, fair would be 20.0%",
            "starved, below a quarter of the mean of their job: readers/3",
            "31 flushes: mean 1.20 ms",
            "alone beside times",
            "readers read IOPS 40000 400 0.01",
            "readers read p99 300 us 7.20 ms 24.0",
            "read: 1.250% over 10 ms",
            "closed loop: latency is service time with 4 in flight",
            "A write is done when the device has taken it",
            "attached nvme0n1: PCIe 8 GT/s x2, 38 C before, 61 C after",
            "group at most nvme0n1: reads 100 MiB/s, 500 writes a second; 2.00 CPUs",
            "cpu 0.60 s user, 2.10 s system (571 ns + 2000 ns an I/O)",
            "latency, top 44%",
        ] {
            assert!(seen.contains(part), "{width}x{height}: {part:?} is nowhere");
        }
        // Up again at once, however often it was pressed.
        let at_the_end = s.text();
        s.keys("kkkk");
        assert_ne!(s.text(), at_the_end, "{width}x{height}");
    }
}

#[test]
fn an_open_loop_that_is_overloaded_says_so() {
    pictures("run-overloaded", finished_overloaded);
    let s = finished_overloaded(120, 40);
    let row = s.line_with(" read ");
    // From when each was due, not the 240 us of the service alone.
    assert!(row.contains("950 ms") && !row.contains("240 us"), "{row}");
    let text = flat(&s);
    for part in [
        "open loop: 5000 I/Os a second asked, 2100 achieved: overloaded; latency is from when each was due",
        "read service time alone: p50 240 us",
        "28950 I/Os were due and not even started",
        "! randread-4k: overloaded",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn a_foreground_runs_alone_first_and_its_time_is_counted() {
    let mut s = form(120, 40, "readers-vs-writer");
    assert!(flat(&s).contains("First readers alone, then all together, 11 s each"), "{}", s.text());
    s.keys("<End><Enter>");
    let mut p = progress(Phase::Measuring, 50, Some(1e6));
    p.jobs[0].name = "readers".to_owned();
    s.send(Message::RunProgress(p.clone()));
    // Six of twice eleven seconds.
    let line = s.line_with("measuring readers alone");
    assert!(line.contains("16 s left"), "{line}");
    p.jobs.push(blktune::workload::live::JobProgress { name: "writer".to_owned(), ..Default::default() });
    s.send(Message::RunProgress(p));
    let line = s.line_with("measuring ");
    assert!(line.contains("5 s left") && !line.contains("alone"), "{line}");
    // A single job has nobody beside it.
    let mut s = form(120, 40, "randread-4k");
    go_to(&mut s, "more");
    s.keys("<Enter>");
    go_to(&mut s, "foreground");
    s.keys("l");
    assert!(flat(&s).contains("foreground: there is no other job beside this one"), "{}", s.text());
}

#[test]
fn a_sandbox_whose_file_can_only_be_read_starts_no_job_that_writes() {
    let mut s = form(80, 24, "randrw-4k-70");
    s.model.workload.scratch_is_read_only = true;
    assert!(
        flat(&s).contains("This can not be run: randrw-4k-70 writes, and the sandbox without root"),
        "{}",
        s.text()
    );
    s.keys("<End><Enter>");
    assert_eq!(started(&s), None);
    set(&mut s, "rw", "randread");
    s.keys("<End><Enter>");
    assert!(started(&s).is_some());
}
