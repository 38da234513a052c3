//! Injected faults, sampled from a generator with its own seed, so that the data never depend on
//! them.

use std::{fmt::Display, ops::RangeInclusive, time::Duration};

use boardlot_service::error::{Error, Result};
use serde::{Deserialize, Serialize};

use super::seeded_rng::SeededRng;

/// Rates of the faults to inject. By default there are none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Faults {
    /// Seconds before each response.
    pub latency: f64,
    /// Rate of the endpoint's documented internal error, or of HTTP 503 if it has none.
    pub error_rate: f64,
    /// Rate of connections that are closed without a response.
    pub drop_rate: f64,
    /// Rate of connections that are closed in the middle of the body.
    pub truncate_rate: f64,
    /// Rate of HTTP 429 with `Retry-After: 1`.
    pub throttle_rate: f64,
    /// Rate of HTTP 200 with a page of HTML.
    pub html_rate: f64,
    /// The seed of the sampling.
    pub seed: u64,
}

/// A fault of one response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    Drop,
    Throttle,
    Html,
    Truncate,
    /// One of the endpoint's internal errors, by index; the index wraps around.
    Error(usize),
}

impl Faults {
    /// Checks that all values are in range.
    pub fn validate(&self) -> Result<()> {
        for (name, rate) in [
            ("error_rate", self.error_rate),
            ("drop_rate", self.drop_rate),
            ("truncate_rate", self.truncate_rate),
            ("throttle_rate", self.throttle_rate),
            ("html_rate", self.html_rate),
        ] {
            within(name, rate, 0.0..=1.0, "a number")?;
        }
        within("latency", self.latency, 0.0..=3600.0, "a number of seconds")
    }
}

/// Checks that a value is in its range.
pub fn within<T: PartialOrd + Display>(
    name: &str,
    value: T,
    range: RangeInclusive<T>,
    kind: &str,
) -> Result<()> {
    if range.contains(&value) {
        return Ok(());
    }
    let expected = format!("{kind} from {} to {}", range.start(), range.end());
    Err(Error::argument(name, &value.to_string(), &expected))
}

/// Samples the fault of each response.
#[derive(Debug)]
pub struct FaultSampler {
    pub faults: Faults,
    rng: SeededRng,
}

impl FaultSampler {
    pub fn new(faults: Faults) -> Self {
        let rng = SeededRng::new(faults.seed, "faults");
        FaultSampler { faults, rng }
    }

    /// Returns the delay and the fault of the next response. Every rate is sampled each time, so
    /// that the sequence of one fault does not depend on the rates of the others.
    pub fn next(&mut self) -> (Duration, Option<Fault>) {
        let faults = &self.faults;
        let which = self.rng.below(1 << 32) as usize;
        let candidates = [
            (Fault::Drop, self.rng.chance(faults.drop_rate)),
            (Fault::Throttle, self.rng.chance(faults.throttle_rate)),
            (Fault::Html, self.rng.chance(faults.html_rate)),
            (Fault::Truncate, self.rng.chance(faults.truncate_rate)),
            (Fault::Error(which), self.rng.chance(faults.error_rate)),
        ];
        let fault = candidates.into_iter().find(|(_, hit)| *hit).map(|(fault, _)| fault);
        (Duration::try_from_secs_f64(faults.latency).unwrap_or_default(), fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_outside_0_to_1_are_rejected() {
        for rate in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            let faults = Faults { drop_rate: rate, ..Faults::default() };
            assert!(faults.validate().expect_err("refused").to_string().contains("drop_rate"));
            assert!(Faults { latency: -rate.abs(), ..Faults::default() }.validate().is_err());
        }
        assert!(Faults { error_rate: 1.0, ..Faults::default() }.validate().is_ok());
    }

    #[test]
    fn the_same_seed_produces_the_same_faults_at_about_the_rate() {
        let faults = Faults { html_rate: 0.25, seed: 3, ..Faults::default() };
        let course = |faults: &Faults| {
            let mut sampler = FaultSampler::new(faults.clone());
            (0..2000).map(|_| sampler.next().1).collect::<Vec<_>>()
        };
        let first = course(&faults);
        assert_eq!(first, course(&faults));
        let hits = first.iter().filter(|fault| **fault == Some(Fault::Html)).count();
        assert!((400..600).contains(&hits), "{hits}");
        assert_ne!(first, course(&Faults { seed: 4, ..faults }));
    }
}
