//! Clients of one service in several tokio runtimes, as tests with `#[tokio::test]` have them.

use std::{
    hint::black_box,
    sync::{Barrier, OnceLock},
    thread,
};

use boardlot_client::{Client, ClientOptions, Credentials, endpoints::DIVIDENDS};
use boardlot_sandbox::{Options, Sandbox};
use tokio::runtime::{Builder, Runtime};

/// A sandbox with a runtime of its own, which all tests share.
fn sandbox() -> &'static Sandbox {
    static SANDBOX: OnceLock<(Runtime, Sandbox)> = OnceLock::new();
    let (_, sandbox) = SANDBOX.get_or_init(|| {
        let runtime = Runtime::new().expect("a runtime");
        let sandbox = Sandbox::start(Options::default(), runtime.handle()).expect("a sandbox");
        (runtime, sandbox)
    });
    sandbox
}

/// A client without retries, so that each failure is seen.
fn client() -> Client {
    let token = sandbox().add_bearer_token();
    let mut options = ClientOptions::of(Credentials::bearer(token).expect("a token"));
    options.transport.max_retries = 0;
    Client::new(sandbox().base_url(), options).expect("a client")
}

async fn call(client: &Client) {
    let rows = client.call(DIVIDENDS, &[("symbol", "HK.00700".into())]).await;
    assert!(!rows.expect("dividends").is_empty());
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// Computes for about as many milliseconds.
fn compute(millions: u64) {
    black_box((0..millions * 1_000_000).fold(0_u64, |sum, number| sum.rotate_left(5) ^ number));
}

/// Calls with a client of its own; in between, the runtime's only thread computes, and drives no connection.
async fn test(calls: usize, computes: u64) {
    let client = client();
    for _ in 0..calls {
        call(&client).await;
        compute(computes);
    }
}

macro_rules! tests {
    ($($name:ident($calls:literal, $computes:literal);)+) => {
        $(
            #[tokio::test]
            async fn $name() {
                test($calls, $computes).await;
            }
        )+
    };
}

tests! {
    a_test_of_20_calls(20, 0);
    a_test_of_30_calls_that_computes(30, 1);
    a_test_of_10_calls_that_computes(10, 5);
    a_test_of_40_calls(40, 0);
    a_test_of_5_calls_that_computes(5, 20);
    a_test_of_3_calls_that_computes(3, 100);
    a_test_of_20_calls_that_computes(20, 2);
    a_test_of_15_calls_that_computes(15, 10);
    another_test_of_20_calls(20, 0);
    another_test_of_30_calls_that_computes(30, 1);
    another_test_of_10_calls_that_computes(10, 5);
    another_test_of_40_calls(40, 0);
    another_test_of_5_calls_that_computes(5, 20);
    another_test_of_3_calls_that_computes(3, 100);
    another_test_of_20_calls_that_computes(20, 2);
    another_test_of_15_calls_that_computes(15, 10);
}

#[test]
fn sixteen_runtimes_at_once_begin_and_end_beside_each_other() {
    let begin = Barrier::new(16);
    thread::scope(|scope| {
        for number in 0..16 {
            let begin = &begin;
            scope.spawn(move || {
                begin.wait();
                for _ in 0..3 {
                    runtime().block_on(test(number % 5, number as u64 % 3));
                }
            });
        }
    });
}

#[test]
fn a_client_outlives_the_runtimes_of_its_calls() {
    let client = client();
    for _ in 0..3 {
        runtime().block_on(call(&client));
    }
}

#[test]
fn a_client_does_not_wait_for_a_runtime_that_drives_nothing() {
    let (client, idle) = (client(), runtime());
    idle.block_on(call(&client));
    runtime().block_on(call(&client));
    idle.block_on(call(&client));
}
