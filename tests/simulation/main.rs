//! A fleet of clients and a service in virtual time: the real code of retries, their budget, backoff,
//! throttle, shared limits, clock correction and token refresh, deterministic by seed. The network is
//! replaced at one exchange, and the clock and the chance are the simulation's; nothing else is.
//!
//! turmoil and madsim were looked at first. They replace tokio's sockets or all of tokio, below an HTTP library that
//! uses tokio's own; what is to be shown here is above it. tokio's paused time is enough.
//!
//! `make simulate SEEDS=1-20 CLIENTS=1000` runs more than the short form, which the tests run. Seed 1 with two
//! minutes of a slow service is there for good: the retry budgets of the clients, which were not used up by then, once
//! kept it overloaded.

#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "a test may panic")]

mod fleet;
mod service;

use std::{cell::RefCell, env, io::Write, rc::Rc, sync::atomic::Ordering, time::Duration};

use boardlot::simulated;
use fleet::{Fleet, Kind, Seen, clients};
use service::{Fault, Service};
use tokio::{
    runtime::Builder,
    task::LocalSet,
    time::{Instant, sleep_until},
};

/// How much of the capacity is offered without a fault.
const LOAD: f64 = 0.7;
/// How long after the end of a fault everything is as before.
const RECOVERY: usize = 60;

struct Scenario {
    name: &'static str,
    kind: Kind,
    fault: Fault,
    load: f64,
}

struct Sizes {
    clients: usize,
    before: u64,
    fault: u64,
    after: u64,
    interval: f64,
}

/// What came of a run.
struct Outcome {
    per_second: Vec<u32>,
    before: f64,
    during: f64,
    /// Seconds until the goodput was back and stayed.
    recovered: Option<usize>,
    end: f64,
    retry_share: f64,
    retries: f64,
    /// What the budgets of all clients allow: a hundred each, and one for five successes.
    budget: f64,
    jain: f64,
    wrong_lists: u64,
    errors: u64,
}

fn scenarios() -> Vec<Scenario> {
    let minute = Duration::from_secs(60);
    let with = |name, kind, fault, load| Scenario { name, kind, fault, load };
    let mut all = vec![
        with("0.5 of the capacity", Kind::Logins, Fault::Load(0.5), 0.5),
        with("0.9 of the capacity", Kind::Logins, Fault::Load(0.9), 0.5),
        with("1.5 times the capacity", Kind::Logins, Fault::Load(1.5), 0.5),
        with("3 times the capacity", Kind::Logins, Fault::Load(3.0), 0.5),
        with("slow", Kind::Logins, Fault::Slow, LOAD),
        with("half 503", Kind::Logins, Fault::Errors, LOAD),
        with("half reset", Kind::Logins, Fault::Resets, LOAD),
        with("429", Kind::Logins, Fault::Throttled { retry_after: None }, LOAD),
        with("429, Retry-After", Kind::Logins, Fault::Throttled { retry_after: Some(5) }, LOAD),
        with("restart", Kind::Logins, Fault::Restart(minute / 6), LOAD),
        with("tokens expire", Kind::Logins, Fault::TokensExpire, LOAD),
        with("clock jumps", Kind::Keys, Fault::ClockJumps, LOAD),
    ];
    let plain: Vec<Scenario> = all
        .iter()
        .filter(|it| !matches!(it.fault, Fault::TokensExpire | Fault::ClockJumps))
        .map(|it| with(it.name, Kind::Plain, it.fault, it.load))
        .collect();
    all.extend(plain);
    all
}

fn run(scenario: &Scenario, sizes: &Sizes, seed: u64) -> Outcome {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
    let local = LocalSet::new();
    local.block_on(&runtime.expect("a runtime"), async {
        simulated::begin(seed);
        let (count, pages) = (sizes.clients, service::PAGES as f64);
        let offered = count as f64 * pages / sizes.interval;
        let capacity = offered / scenario.load;
        let service = Service::new(capacity);
        let start = Instant::now();
        let (begin, end) = (sizes.before, sizes.before + sizes.fault);
        let total = end + sizes.after;
        let seen = Rc::new(RefCell::new(Seen {
            pages: vec![0; usize::try_from(total).expect("in range")],
            by_client: vec![0; count],
            ..Seen::default()
        }));
        let at = |second: u64| start + Duration::from_secs(second);
        let fleet = Fleet {
            service: service.clone(),
            seen: seen.clone(),
            start,
            end: at(total),
            interval: Rc::new(RefCell::new(Duration::from_secs_f64(sizes.interval))),
        };
        // What ten clients may need at the highest load.
        let limit = 10.0 * pages / sizes.interval * 8.0;
        let clients = clients(scenario.kind, &service, count, limit);
        let running: Vec<_> = clients
            .into_iter()
            .enumerate()
            .map(|(number, client)| tokio::task::spawn_local(fleet.clone().run(number, client)))
            .collect();
        sleep_until(at(begin)).await;
        if let Fault::Load(load) = scenario.fault {
            *fleet.interval.borrow_mut() =
                Duration::from_secs_f64(sizes.interval * scenario.load / load);
        }
        service.set(Some(scenario.fault));
        sleep_until(at(end)).await;
        *fleet.interval.borrow_mut() = Duration::from_secs_f64(sizes.interval);
        service.set(None);
        sleep_until(at(total)).await;
        running.iter().for_each(tokio::task::JoinHandle::abort);
        let attempts = service.attempts.load(Ordering::Relaxed) as f64;
        let refreshes = service.refreshes.load(Ordering::Relaxed) as f64;
        let seen = seen.borrow();
        outcome(
            &seen,
            usize::try_from(begin).expect("small"),
            usize::try_from(end).expect("small"),
            attempts - refreshes,
        )
    })
}

fn outcome(seen: &Seen, begin: usize, end: usize, attempts: f64) -> Outcome {
    let mean = |range: &[u32]| range.iter().sum::<u32>() as f64 / range.len().max(1) as f64;
    let pages = &seen.pages;
    let before = mean(&pages[begin / 3..begin]);
    // The requests of clients come at random times: of 20 seconds, the mean varies by some percent.
    const WINDOW: usize = 20;
    let is_back = |second: usize| mean(&pages[second..second + WINDOW]) >= 0.9 * before;
    let last = pages.len() - WINDOW;
    let recovered = (end..last).find(|&second| is_back(second)).map(|second| second - end);
    let squares: f64 = seen.by_client.iter().map(|&count| f64::from(count).powi(2)).sum();
    let sum = f64::from(seen.by_client.iter().sum::<u32>());
    let retries = (attempts - seen.calls as f64).max(0.0);
    Outcome {
        retries,
        budget: 100.0 * seen.by_client.len() as f64 + sum / 5.0,
        per_second: pages.clone(),
        before,
        during: mean(&pages[begin..end]),
        recovered,
        end: mean(&pages[(end + RECOVERY).min(last)..]),
        retry_share: retries / seen.calls as f64,
        jain: sum * sum / (squares * seen.by_client.len() as f64),
        wrong_lists: seen.wrong_lists,
        errors: seen.errors,
    }
}

/// The same seed has the same outcome, also with tokens that threads read and write.
fn check_determinism() {
    let sizes = Sizes { clients: 20, before: 30, fault: 30, after: 60, interval: 5.0 };
    let Some(scenario) = scenarios().into_iter().find(|it| it.fault == Fault::TokensExpire) else {
        return;
    };
    let [first, again, other] = [7, 7, 8].map(|seed| run(&scenario, &sizes, seed).per_second);
    assert!(first == again, "the same seed has two outcomes");
    assert!(first != other, "the seed has no effect");
}

fn main() {
    let number = |name: &str, default: u64| {
        env::var(name).ok().map_or(default, |text| text.parse().expect("a number"))
    };
    let seeds = env::var("SEEDS").unwrap_or_else(|_| "1".to_owned());
    let (first, last) = seeds.split_once('-').unwrap_or((&seeds, &seeds));
    let seeds = first.parse().expect("a seed")..=last.parse::<u64>().expect("a seed");
    let sizes = Sizes {
        clients: usize::try_from(number("CLIENTS", 60)).expect("small"),
        before: number("BEFORE", 60),
        fault: number("FAULT", 120),
        after: number("AFTER", 120),
        interval: number("INTERVAL", 10) as f64,
    };
    let only = env::var("ONLY").ok();
    check_determinism();
    let (mut out, mut failures) = (std::io::stdout().lock(), Vec::new());
    for seed in seeds {
        for scenario in scenarios() {
            if only.as_ref().is_some_and(|only| !scenario.name.contains(only.as_str())) {
                continue;
            }
            let found = run(&scenario, &sizes, seed);
            let kind = format!("{:?}", scenario.kind);
            let recovered = found.recovered.map_or("never".to_owned(), |s| format!("{s} s"));
            _ = writeln!(
                out,
                "{seed:>3} {kind:<7} {:<24} before {:>7.1}/s  during {:>7.1}/s  back after {recovered:<6} \
                 end {:>5.2}  retries {:>5.2}  Jain {:.3}  errors {:>6}  wrong lists {}",
                scenario.name,
                found.before,
                found.during,
                found.end / found.before,
                found.retry_share,
                found.jain,
                found.errors,
                found.wrong_lists,
            );
            if let Ok(path) = env::var("PLOT") {
                let line = serde_json::json!({
                    "seed": seed, "kind": kind, "name": scenario.name, "pages": found.per_second,
                });
                let mut file = std::fs::OpenOptions::new()
                    .append(true)
                    .create(true)
                    .open(path)
                    .expect("a file");
                writeln!(file, "{line}").expect("written");
            }
            let kept = found.recovered.is_some_and(|seconds| seconds <= RECOVERY)
                && found.end >= 0.95 * found.before
                && found.retries <= found.budget
                && found.jain >= 0.9
                && found.wrong_lists == 0;
            if scenario.kind != Kind::Plain && !kept {
                failures.push(format!("seed {seed}: {}", scenario.name));
            }
        }
    }
    assert!(failures.is_empty(), "not kept: {failures:?}");
}
