//! Screen 4 while an experiment goes on and after it, each state conducted by the real conductor: what a person must be able
//! to read there, and a picture of it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test's helper fails the test by panicking

#[path = "tuning/fake.rs"]
#[allow(dead_code)] // faults that only the tests of settings need
mod fake;
#[path = "experiment/made.rs"]
#[allow(dead_code)] // what only the tests of the conductor need
mod made;
mod support;
#[path = "experiment/told.rs"]
mod told;

use blktune::experiment::event::Event;
use support::model::Screen;
use told::{Plot, QUIET, conducted, measuring, progress, started};

const SIZES: [(u16, u16); 3] = [(60, 16), (80, 24), (120, 40)];
/// Natural logarithm of 1.05.
const FIVE: f64 = 0.048_790_164;

fn pictures(picture: &str, make: impl Fn(u16, u16) -> Screen) {
    for (width, height) in SIZES {
        let screen = make(width, height);
        insta::assert_snapshot!(format!("{picture}-{width}x{height}"), screen.text());
    }
}

fn faster() -> Plot {
    Plot { nature: made::Nature { effect: FIVE, ..QUIET }, ..Plot::default() }
}

#[test]
fn going() {
    pictures("going", |w, h| {
        let mut s = started(w, h);
        let told = conducted(&s, faster());
        told.until(&mut s, measuring(5, 2));
        s.send(progress(4));
        s
    });
}

#[test]
fn ended() {
    pictures("ended", |w, h| {
        let mut s = started(w, h);
        let told = conducted(&s, faster());
        told.whole(&mut s);
        s
    });
}

#[test]
fn look() {
    pictures("look", |w, h| {
        let mut s = started(w, h);
        let told = conducted(
            &s,
            Plot {
                nature: made::Nature { noise: 0.04, effect: 0.03, ..QUIET },
                spoiled: vec![9, 13],
                tail: 0.1,
                ..Plot::default()
            },
        );
        told.until(&mut s, |e| matches!(e, Event::Look { blocks: 6, .. }));
        s
    });
}
