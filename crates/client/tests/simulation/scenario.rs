//! Scenarios: the fault of a service while a fleet uses it, and the outcome that is required.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    sync::atomic::Ordering,
    time::Duration,
};

use boardlot_client::extension::os::simulated;
use tokio::{
    runtime::Builder,
    task::{LocalSet, spawn_local},
    time::{Instant, sleep_until},
};

use super::{
    fleet::{DEADLINE, Fleet, Kind, Reader, Seen, clients},
    service::{Fault, PAGES, Service},
};

/// The share of the capacity that is offered without a fault.
const LOAD: f64 = 0.7;
/// The seconds after the end of a fault until everything is as before.
const RECOVERY: usize = 60;
/// Goodput is the share of what is requested within this many seconds that is received in time, and
/// this is enough of it.
const WINDOW: usize = 30;
const ENOUGH: f64 = 0.95;
/// The seconds after which each page has come in time or has not.
const SETTLED: usize = DEADLINE.as_secs() as usize;
const HOUR: u64 = 3_600;

#[derive(Debug)]
pub struct Scenario {
    pub name: &'static str,
    pub kind: Kind,
    load: f64,
    /// The interval at which each client calls.
    interval: f64,
    phases: Vec<Phase>,
    seconds: u64,
}

/// A fault, from one second since the start to another.
#[derive(Debug, Clone, Copy)]
struct Phase {
    fault: Fault,
    begin: u64,
    end: u64,
}

/// The seconds before, during and after the fault, and between two calls of a client.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    pub before: u64,
    pub fault: u64,
    pub after: u64,
    pub interval: f64,
}

/// The outcome of a run.
pub struct Outcome {
    pub seen: Seen,
    /// Pages per second.
    pub before: f64,
    pub during: f64,
    /// Seconds until the goodput was back and stayed, after that fault for which they are the most.
    pub recovered: Option<usize>,
    /// The goodput of the last minutes.
    pub end: f64,
    pub retries: f64,
    /// The number of retries that the budgets of all clients allow: a hundred each, and one for
    /// five successes.
    budget: f64,
    pub jain: f64,
}

/// All scenarios of one fault.
pub fn scenarios(times: Times) -> Vec<Scenario> {
    let phase = |fault| Phase { fault, begin: times.before, end: times.before + times.fault };
    let with = |name, kind, fault, load| Scenario {
        name,
        kind,
        load,
        interval: times.interval,
        phases: vec![phase(fault)],
        seconds: times.before + times.fault + times.after,
    };
    let rejected = |retry_after| Fault::Throttled { retry_after };
    let mut all = vec![
        with("0.5 of the capacity", Kind::Logins, Fault::Load(0.5), 0.5),
        with("0.9 of the capacity", Kind::Logins, Fault::Load(0.9), 0.5),
        with("1.5 times the capacity", Kind::Logins, Fault::Load(1.5), 0.5),
        with("3 times the capacity", Kind::Logins, Fault::Load(3.0), 0.5),
        with("slow", Kind::Logins, Fault::Slow, LOAD),
        with("half 503", Kind::Logins, Fault::Errors, LOAD),
        with("half reset", Kind::Logins, Fault::Resets, LOAD),
        with("429", Kind::Logins, rejected(None), LOAD),
        with("429, Retry-After", Kind::Logins, rejected(Some(5)), LOAD),
        with("restart", Kind::Logins, Fault::Restart, LOAD),
        with("tokens expire", Kind::Logins, Fault::TokensExpire, LOAD),
        with("clock jumps", Kind::Keys, Fault::ClockJumps, LOAD),
    ];
    let of_clients = |it: &Scenario| !matches!(it.name, "tokens expire" | "clock jumps");
    let plain = all.iter().filter(|it| of_clients(it)).map(|it| Scenario {
        kind: Kind::Plain,
        phases: it.phases.clone(),
        ..*it
    });
    let plain: Vec<_> = plain.collect();
    all.extend(plain);
    all
}

/// A day in which each client calls every ten minutes, as a scheduled job does, and once more within a minute
/// of the open and of the close; and in which everything happens that can. The service of fewer than a thousand
/// clients is so slow that calls may be late by chance.
pub fn day() -> Scenario {
    let minutes = |fault, hour: f64, minutes: u64| {
        let begin = (hour * HOUR as f64) as u64;
        Phase { fault, begin, end: begin + minutes * 60 }
    };
    Scenario {
        name: "a day",
        kind: Kind::Both,
        load: 0.5,
        interval: 600.0,
        seconds: 24 * HOUR,
        phases: vec![
            minutes(Fault::Restart, 2.0, 1),
            minutes(Fault::TokensExpire, 4.0, 1),
            minutes(Fault::ClockJumps, 6.0, 1),
            minutes(Fault::Burst, 9.5, 1),
            minutes(Fault::Slow, 10.5, 10),
            minutes(Fault::Errors, 11.5, 10),
            minutes(Fault::Resets, 12.5, 10),
            minutes(Fault::Throttled { retry_after: None }, 13.5, 10),
            minutes(Fault::Throttled { retry_after: Some(5) }, 14.5, 10),
            minutes(Fault::Burst, 16.0, 1),
        ],
    }
}

impl Scenario {
    pub fn run(&self, clients: usize, seed: u64) -> Outcome {
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
        let runtime = runtime.expect("a runtime");
        LocalSet::new().block_on(&runtime, self.run_here(clients, seed))
    }

    async fn run_here(&self, count: usize, seed: u64) -> Outcome {
        simulated::begin(seed);
        let offered = (count as u64 * PAGES) as f64 / self.interval;
        let service = Service::new(offered / self.load);
        let start = Instant::now();
        let seconds = usize::try_from(self.seconds).expect("in range");
        let fleet = Rc::new(Fleet {
            service: service.clone(),
            seen: RefCell::new(Seen::new(seconds, count)),
            start,
            end: start + Duration::from_secs(self.seconds),
            interval: Cell::new(Duration::from_secs_f64(self.interval)),
        });
        // The rate that ten clients may need at the highest load.
        let limit = (10 * PAGES) as f64 / self.interval.min(10.0) * 8.0;
        let readers: Vec<_> = clients(self.kind, &service, count, limit)
            .into_iter()
            .enumerate()
            .map(|(number, client)| Reader::new(&fleet, number, client))
            .collect();
        for reader in &readers {
            spawn_local(reader.clone().run());
        }
        for Phase { fault, begin, end } in self.phases.iter().copied() {
            sleep_until(start + Duration::from_secs(begin)).await;
            match fault {
                Fault::Load(load) => {
                    let interval = self.interval * self.load / load;
                    fleet.interval.set(Duration::from_secs_f64(interval));
                }
                Fault::Burst => {
                    let time = Duration::from_secs(end - begin);
                    readers.iter().for_each(|it| _ = spawn_local(it.clone().call_within(time)));
                }
                _ => {}
            }
            service.set(Some(fault));
            sleep_until(start + Duration::from_secs(end)).await;
            fleet.interval.set(Duration::from_secs_f64(self.interval));
            service.set(None);
        }
        sleep_until(fleet.end).await;
        let attempts = service.attempts.load(Ordering::Relaxed);
        let refreshes = service.refreshes.load(Ordering::Relaxed);
        self.outcome(fleet.seen.take(), attempts - refreshes)
    }

    fn outcome(&self, seen: Seen, attempts: u64) -> Outcome {
        let clients = seen.by_client.len() as f64;
        let squares: f64 = seen.by_client.iter().map(|&count| f64::from(count).powi(2)).sum();
        let sum = f64::from(seen.by_client.iter().sum::<u32>());
        let retries = attempts.saturating_sub(seen.requests) as f64;
        let mean = |from: u64, to: u64| {
            let pages = seen.pages.get(from as usize..to as usize).unwrap_or_default();
            f64::from(pages.iter().sum::<u32>()) / pages.len().max(1) as f64
        };
        let recovered = self.phases.iter().enumerate().map(|(number, phase)| {
            let next = self.phases.get(number + 1).map_or(self.seconds, |next| next.begin);
            seen.recovered(phase.end as usize, next as usize)
        });
        let (first, last) = (self.phases[0], self.phases[self.phases.len() - 1]);
        Outcome {
            before: mean(first.begin / 3, first.begin),
            during: mean(first.begin, first.end),
            recovered: recovered.collect::<Option<Vec<_>>>().and_then(|all| all.into_iter().max()),
            end: seen.goodput(last.end as usize + RECOVERY, seen.pages.len() - SETTLED),
            retries,
            budget: 100.0 * clients + sum / 5.0,
            jain: sum * sum / (squares * clients),
            seen,
        }
    }
}

impl Seen {
    fn new(seconds: usize, clients: usize) -> Self {
        let [pages, wanted, in_time] = [(); 3].map(|()| vec![0; seconds]);
        Seen { pages, wanted, in_time, by_client: vec![0; clients], ..Seen::default() }
    }

    /// The share of the pages requested in these seconds that came in time.
    fn goodput(&self, from: usize, to: usize) -> f64 {
        let sum = |all: &[u32]| all.get(from..to).unwrap_or_default().iter().sum::<u32>();
        match sum(&self.wanted) {
            0 => 1.0,
            wanted => f64::from(sum(&self.in_time)) / f64::from(wanted),
        }
    }

    /// The time from the end of a fault until the goodput is enough and stays so until the next;
    /// none if it is not enough at the end.
    fn recovered(&self, end: usize, next: usize) -> Option<usize> {
        let last = next - SETTLED - WINDOW;
        let lacking = (end..=last).rev().find(|&from| self.goodput(from, from + WINDOW) < ENOUGH);
        match lacking {
            None => Some(0),
            Some(second) => (second < last).then(|| second + 1 - end),
        }
    }
}

impl Outcome {
    /// Returns true if the outcome is as promised.
    pub fn is_kept(&self) -> bool {
        self.recovered.is_some_and(|seconds| seconds <= RECOVERY)
            && self.end >= ENOUGH
            && self.retries <= self.budget
            && self.jain >= 0.9
            && self.seen.wrong_lists == 0
    }
}
