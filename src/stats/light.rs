//! The warning light for the order of trials: whether what ran before influenced what was read.

use serde::{Deserialize, Serialize};

use super::interval::Interval;
use super::latch::{Latch, Return};
use super::t_test::Estimate;

/// The light.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Light {
    /// An order effect as large as the margin is ruled out.
    Green,
    /// It is not ruled out.
    Amber,
    /// There is one.
    Red,
}

/// Why the light is what it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reason {
    /// The device did not come back to its starting performance; no verdict holds.
    Latched,
    /// Trials are influenced by what ran before (log units).
    CarriedOver(f64),
    /// The order of a block changes its log ratio (by so much).
    OrderDiffers(f64),
    /// The device did not come back, which drift may account for.
    DriftOrLatch,
    /// The 90 % interval of the carry-over lies within the margin.
    RuledOut,
    /// It does not.
    NotRuledOut(Interval),
    /// The blocks do not allow an estimate.
    NotKnown,
}

/// What is known about the order of one comparison's trials.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OrderEffects {
    /// Carry-over ([`super::carry_over`]).
    pub carry_over: Option<Estimate>,
    /// ABBA less BAAB.
    pub order_difference: Option<Estimate>,
    /// Return to the starting setting.
    pub latch: Option<Latch>,
}

impl OrderEffects {
    /// The light by the margin's log ratio, and why; the first rule that fits: latched, red, green, amber.
    #[must_use]
    pub fn light(&self, theta: f64) -> (Light, Reason) {
        let returned = self.latch.map(|l| l.result);
        if returned == Some(Return::Latched) {
            return (Light::Red, Reason::Latched);
        }
        let seen = |e: &Estimate, least: f64| e.p().is_some_and(|p| p < 0.05) && e.value.abs() >= least;
        if let Some(e) = self.carry_over.filter(|e| seen(e, theta / 2.0)) {
            return (Light::Red, Reason::CarriedOver(e.value));
        }
        if let Some(e) = self.order_difference.filter(|e| seen(e, theta)) {
            return (Light::Red, Reason::OrderDiffers(e.value));
        }
        if returned == Some(Return::DriftOrLatch) {
            return (Light::Amber, Reason::DriftOrLatch);
        }
        match self.carry_over.and_then(|e| e.interval(0.10)) {
            Some(i) if i.inside(theta) => (Light::Green, Reason::RuledOut),
            Some(i) => (Light::Amber, Reason::NotRuledOut(i)),
            None => (Light::Amber, Reason::NotKnown),
        }
    }
}
