//! The service's clock as a client knows it, over real HTTP: what ends an open time range.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::Arc,
    task::Poll,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use boardlot_client::extension::{
    api::{Argument, endpoint},
    auth::{Algorithm, Credentials, KeyPair, generate},
    client::{Client, ClientOptions},
    error::ErrorKind,
    http::{ClientRate, ClockReading, LocalInstant, TransportOptions},
};
use boardlot_sandbox::{Faults, Options, Sandbox};
use futures_util::future::join_all;
use tokio::runtime::{Handle, Runtime};

const HOUR_MS: i64 = 3_600_000;

fn runtime() -> Runtime {
    Runtime::new().expect("a runtime")
}

fn sandbox(ahead_ms: i64, faults: Faults) -> Sandbox {
    let clock_offset = ahead_ms as f64 / 1_000.0;
    let options = Options { clock_offset, faults, fills: 1, ..Options::default() };
    Sandbox::start(options, &Handle::current()).expect("a sandbox")
}

fn once() -> TransportOptions {
    let mut options = TransportOptions::default();
    options.max_retries = 0;
    options
}

fn client(
    sandbox: &Sandbox,
    credentials: Option<Credentials>,
    transport: TransportOptions,
) -> Client {
    let mut options = ClientOptions::default();
    options.credentials = credentials;
    options.transport = transport;
    Client::new(sandbox.base_url(), options).expect("a client")
}

fn anonymous(sandbox: &Sandbox) -> Client {
    client(sandbox, None, once())
}

fn api_key(sandbox: &Sandbox) -> Credentials {
    let (private, public) = generate(Algorithm::Ed25519, 0).expect("a key");
    let key = KeyPair::read(private.as_bytes(), None).expect("a key");
    let id = sandbox.upload_key(&public).expect("uploaded");
    Credentials::api_key(id, Arc::new(key)).expect("a credential")
}

/// The service's time in microseconds.
async fn service_now(client: &Client) -> boardlot_client::extension::error::Result<i64> {
    client.transport.service_now(|| None).await
}

/// A client whose next request would wait for an hour.
fn with_one_request(sandbox: &Sandbox) -> Client {
    let mut options = once();
    options.rate_limit = Some(ClientRate::Own(1.0 / 3_600.0));
    client(sandbox, None, options)
}

fn local_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    i64::try_from(since.as_millis()).expect("in range")
}

/// The service's time is between `before` and now.
fn assert_between(service_micros: i64, ahead_ms: i64, before: i64) {
    let service_ms = service_micros / 1_000;
    // The rounding of stamp and age adds at most 2 ms.
    let (earliest, latest) = (before + ahead_ms, local_ms() + ahead_ms + 1_000);
    assert!(
        (earliest..=latest).contains(&service_ms),
        "{service_ms} is not in {earliest}..={latest}"
    );
}

#[test]
fn a_signature_by_a_wrong_clock_is_made_again_by_the_services_once_for_all_calls() {
    runtime().block_on(async {
        for ahead_ms in [-HOUR_MS, 0, HOUR_MS] {
            let faults = Faults { latency: 0.1, ..Faults::default() };
            let sandbox = sandbox(ahead_ms, faults);
            let client = client(&sandbox, Some(api_key(&sandbox)), once());
            let symbol = [("symbol", Argument::Text("HK.00700".to_owned()))];
            for _ in 0..2 {
                for rows in join_all(
                    (0..8).map(|_| client.call(endpoint("dividends").expect("a row"), &symbol)),
                )
                .await
                {
                    rows.expect("accepted");
                }
            }
            let clock = &client.transport.clock;
            assert!((clock.offset_ms() - ahead_ms).abs() < 1_000, "{}", clock.offset_ms());
            assert_eq!(clock.requests(), u64::from(ahead_ms != 0));
            let difference = clock.now_ms() - local_ms();
            assert!((difference - ahead_ms).abs() < 1_000, "{difference}");
        }
    });
}

#[test]
fn of_many_callers_one_requests() {
    runtime().block_on(async {
        let faults = Faults { latency: 0.1, ..Faults::default() };
        let sandbox = sandbox(HOUR_MS, faults);
        let client = anonymous(&sandbox);
        let before = local_ms();
        for outcome in join_all((0..64).map(|_| service_now(&client))).await {
            assert_between(outcome.expect("a time"), HOUR_MS, before);
        }
        assert_eq!(sandbox.requests().len(), 1);
    });
}

#[test]
fn a_call_uses_the_last_reading_if_another_request_would_wait_for_its_turn() {
    runtime().block_on(async {
        let sandbox = sandbox(HOUR_MS, Faults { latency: 0.1, ..Faults::default() });
        let client = with_one_request(&sandbox);
        for _ in 0..2 {
            let before = local_ms();
            assert_between(service_now(&client).await.expect("a time"), HOUR_MS, before);
        }
        assert_eq!(sandbox.requests().len(), 1);
    });
}

#[test]
fn a_call_reads_the_clock_again_if_the_last_reading_would_keep_it_waiting() {
    runtime().block_on(async {
        for age in [30, 90, 240].map(Duration::from_secs) {
            let sandbox = sandbox(0, Faults::default());
            let client = anonymous(&sandbox);
            let (wall, monotonic) = (local_ms() * 1_000, Instant::now());
            let ago = |extra: Duration| {
                let age = age + extra;
                let micros = i64::try_from(age.as_micros()).expect("in range");
                LocalInstant::new(wall - micros, monotonic - age)
            };
            let sent = ago(Duration::from_micros(100));
            let service_ms = local_ms() - i64::try_from(age.as_millis()).expect("in range");
            client.transport.clock.learn(ClockReading::between(
                service_ms,
                sent,
                ago(Duration::ZERO),
            ));
            service_now(&client).await.expect("a time");
            assert_eq!(sandbox.requests().len(), 1, "{age:?}");
        }
    });
}

#[test]
fn all_that_waited_share_a_failure_and_the_next_call_retries() {
    runtime().block_on(async {
        let faults = Faults { latency: 0.1, error_rate: 1.0, ..Faults::default() };
        let sandbox = sandbox(0, faults);
        let client = anonymous(&sandbox);
        for outcome in join_all((0..64).map(|_| service_now(&client))).await {
            assert!(matches!(*outcome.expect_err("a failure").kind, ErrorKind::Api(_)));
        }
        assert_eq!(sandbox.requests().len(), 1);
        sandbox.set_faults(Faults::default()).expect("no faults");
        service_now(&client).await.expect("a time");
        assert_eq!(sandbox.requests().len(), 2);
    });
}

#[test]
fn a_cancelled_caller_leaves_the_request_to_the_next() {
    runtime().block_on(async {
        let sandbox = sandbox(0, Faults { latency: 0.1, ..Faults::default() });
        let client = anonymous(&sandbox);
        let mut first = Box::pin(service_now(&client));
        let mut second = pin!(service_now(&client));
        poll_fn(|context| {
            assert!(first.as_mut().poll(context).is_pending(), "it asks");
            assert!(second.as_mut().poll(context).is_pending(), "it waits for the first");
            Poll::Ready(())
        })
        .await;
        drop(first);
        second.await.expect("a time");
    });
}

#[test]
fn a_stalled_caller_blocks_no_other() {
    runtime().block_on(async {
        let sandbox = sandbox(0, Faults { latency: 0.1, ..Faults::default() });
        // So long do others wait for the one that is stalled.
        let mut options = TransportOptions::default();
        options.timeout = Duration::from_secs(2);
        let client = client(&sandbox, None, options);
        let mut still = pin!(service_now(&client));
        let first = poll_fn(|context| Poll::Ready(still.as_mut().poll(context))).await;
        assert!(first.is_pending(), "it asks, and is not polled any more: {first:?}");
        service_now(&client).await.expect("a time");
        still.await.expect("a time");
    });
}

#[test]
fn an_explicit_server_time_makes_asking_again_unnecessary() {
    runtime().block_on(async {
        let sandbox = sandbox(HOUR_MS, Faults::default());
        let client = with_one_request(&sandbox);
        let before = local_ms();
        client.server_time().await.expect("a time");
        assert_between(service_now(&client).await.expect("a time"), HOUR_MS, before);
        assert_eq!(sandbox.requests().len(), 1);
    });
}
