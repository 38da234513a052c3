//! The least that a signed request costs: reqwest, a signature and the scan of the response in a loop,
//! without a client around them and without Python. `python -m benches.bare_loop` runs it.

use std::{env, error::Error, fs, time::Instant};

use boardlot_client::extension::{
    api::{Envelope, RecordsLocation},
    auth::{KeyPair, signed_headers},
    decode::{parse_page},
};
use http::Response;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const PATH: &str = "/api/v1.0/sim-trade/1/orders";

/// Arguments: the base URL, a file with a private key, the number of requests at a time, and the
/// seconds to run. Prints the number of requests.
fn main() -> Outcome<()> {
    let mut arguments = env::args().skip(1).filter(|argument| argument != "--bench");
    let mut next = || arguments.next().ok_or("expected: BASE_URL KEY_FILE TASKS SECONDS");
    let (base, key) = (next()?, KeyPair::read(&fs::read(next()?)?, None)?);
    let (tasks, seconds): (usize, f64) = (next()?.parse()?, next()?.parse()?);
    let mut runtime = match tasks {
        1 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = runtime.enable_all().build()?;
    let client = reqwest::Client::builder().no_proxy().tcp_nodelay(true).build()?;
    let line = Line { client, base, key };
    let line: &'static Line = Box::leak(Box::new(line));
    let started = Instant::now();
    let running: Vec<_> = (0..tasks)
        .map(|_| {
            runtime.spawn(async move {
                let mut count = 0_u64;
                while started.elapsed().as_secs_f64() < seconds {
                    line.request().await?;
                    count += 1;
                }
                Outcome::Ok(count)
            })
        })
        .collect();
    let mut total = 0;
    for task in running {
        total += runtime.block_on(task)??;
    }
    println!("{total}");
    Ok(())
}

/// The client, the address and the key of requests to the server.
struct Line {
    client: reqwest::Client,
    base: String,
    key: KeyPair,
}

impl Line {
    async fn request(&self) -> Outcome<usize> {
        let line = ("GET", PATH, "");
        let signed = signed_headers("key-id", &self.key, 1_790_000_000_000, line, b"")?;
        let mut request = self.client.get(format!("{}{PATH}", self.base));
        for (name, value) in signed {
            request = request.header(name, value);
        }
        let body = request.send().await?.bytes().await?;
        let at = RecordsLocation::at("data.orders");
        Ok(parse_page(Envelope::RetCode, &at, &Response::new(body))?.len())
    }
}
