//! A fleet of clients and a service in virtual time: the real code of retries, their budget, backoff,
//! throttle, shared limits, clock correction and token refresh, deterministic by seed. The network is
//! replaced at one exchange, and the clocks and randomness are the simulation's; nothing else is.
//!
//! turmoil and madsim were looked at first. They replace tokio's sockets or all of tokio, below an HTTP library that
//! uses tokio's own; what is to be shown here is above it. tokio's paused time is enough.
//!
//! Calls come whether or not the earlier ones have ended, so that more is offered than the service can do if that is
//! what the scenario says. `SEEDS=1-20 CLIENTS=1000 tools/nightly/simulate` runs more than the short form, which the tests
//! run. Seed 1 with a slow service is always included: the retry budgets of the clients, which were
//! not used up by its end, once kept it overloaded.

#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "a test may panic")]

mod fleet;
mod scenario;
mod service;

use std::{env, fs::OpenOptions, io::Write};

use fleet::Kind;
use scenario::{Outcome, Scenario, Times, day, scenarios};

/// The same seed has the same outcome, also with tokens that threads read and write.
fn check_determinism() {
    let times = Times { before: 30, fault: 30, after: 60, interval: 5.0 };
    let expire = scenarios(times).into_iter().find(|it| it.name == "tokens expire");
    let expire = expire.expect("a scenario");
    let [first, again, other] = [7, 7, 8].map(|seed| expire.run(20, seed).seen.pages);
    assert!(first == again, "the same seed has two outcomes");
    assert!(first != other, "the seed has no effect");
}

fn line(seed: u64, scenario: &Scenario, found: &Outcome) -> String {
    let kind = format!("{:?}", scenario.kind);
    let recovered = found.recovered.map_or("never".to_owned(), |seconds| format!("{seconds} s"));
    format!(
        "{seed:>3} {kind:<6} {:<22} before {:>6.1}/s  during {:>6.1}/s  back after {recovered:<5}  \
         end {:.2}  requests {:>8}  retries {:.2}  Jain {:.3}  errors {:>6}  wrong lists {}",
        scenario.name,
        found.before,
        found.during,
        found.end,
        found.seen.requests,
        found.retries / found.seen.requests as f64,
        found.jain,
        found.seen.errors,
        found.seen.wrong_lists,
    )
}

fn main() {
    let number = |name: &str, default: u64| {
        env::var(name).ok().map_or(default, |text| text.parse().expect("a number"))
    };
    let is_short = env::var("SEEDS").is_err();
    let seeds = env::var("SEEDS").unwrap_or_else(|_| "1".to_owned());
    let (first, last) = seeds.split_once('-').unwrap_or((&seeds, &seeds));
    let seeds = first.parse().expect("a seed")..=last.parse::<u64>().expect("a seed");
    let clients = usize::try_from(number("CLIENTS", 100)).expect("small");
    let times = Times {
        before: number("BEFORE", 30),
        fault: number("FAULT", 100),
        after: number("AFTER", 100),
        interval: number("INTERVAL", 10) as f64,
    };
    let only = env::var("ONLY").unwrap_or_default();
    check_determinism();
    let (mut out, mut failures) = (std::io::stdout().lock(), Vec::new());
    for seed in seeds {
        let all = if only == "day" { vec![day()] } else { scenarios(times) };
        let named = |it: &&Scenario| format!("{:?} {}", it.kind, it.name).contains(&only);
        for scenario in all.iter().filter(named) {
            // A client that never recovers shows that the rest could fail, and once is enough.
            if is_short && scenario.kind == Kind::Plain && scenario.name != "slow" {
                continue;
            }
            let found = scenario.run(clients, seed);
            _ = writeln!(out, "{}", line(seed, scenario, &found));
            if let Ok(path) = env::var("PLOT") {
                let kind = format!("{:?}", scenario.kind);
                let line = serde_json::json!({
                    "seed": seed, "kind": kind, "name": scenario.name,
                    "wanted": &found.seen.wanted, "in_time": &found.seen.in_time,
                });
                let file = OpenOptions::new().append(true).create(true).open(path);
                writeln!(file.expect("a file"), "{line}").expect("written");
            }
            let is_plain = scenario.kind == Kind::Plain;
            if is_plain && scenario.name == "slow" {
                assert_eq!(found.recovered, None, "plain backoff recovers");
            }
            if !is_plain && !found.is_kept() {
                failures.push(format!("seed {seed}: {}", scenario.name));
            }
        }
    }
    assert!(failures.is_empty(), "not kept: {failures:?}");
}
