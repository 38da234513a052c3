//! The arguments of the program: the options of a sandbox by the names that they have in Python.

use std::{net::IpAddr, path::PathBuf};

use boardlot_sandbox::{Control, Faults, KeyAlgorithm, Options};
use clap::{Parser, ValueEnum};
use jiff::civil::Date;

/// The whole service on this machine, with invented data, for clients in any language.
///
/// Prints `listening on ADDRESS` when it responds, and serves until SIGTERM or Ctrl-C. The service is described
/// at /openapi.json; /healthz responds when it runs.
#[derive(Debug, Parser)]
#[command(version, name = "boardlot-sandbox", args_override_self = true)]
pub struct Arguments {
    /// Seed of the data: the same seed gives the same data on the same day.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Address to listen on; 0.0.0.0 for other machines too.
    #[arg(long, default_value = "127.0.0.1")]
    host: IpAddr,
    /// Port; 0 picks a free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Number of fills in the last 90 days.
    #[arg(long, default_value_t = Options::default().fills)]
    fills: usize,
    /// Number of orders.
    #[arg(long, default_value_t = Options::default().orders)]
    orders: usize,
    /// Number of stocks of the plate HK.BK1001.
    #[arg(long, default_value_t = Options::default().plate_stocks)]
    plate_stocks: usize,
    /// Seconds that an access token is valid.
    #[arg(long, default_value_t = Options::default().token_lifetime)]
    token_lifetime: f64,
    /// Seconds that its clock is ahead.
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    clock_offset: f64,
    /// Day on which the data end and the clock starts, such as 2026-01-31; by default the current one.
    #[arg(long)]
    today: Option<Date>,
    /// Faults, such as error_rate=0.01,latency=0.05. Names: latency (seconds), error_rate, drop_rate,
    /// truncate_rate, throttle_rate, html_rate (0 to 1), seed.
    #[arg(long, value_delimiter = ',', value_name = "NAME=NUMBER")]
    faults: Vec<String>,
    /// Folder with rows of your own: NAME.json, NAME/ARGUMENT=VALUE.json and endpoints.toml.
    #[arg(long, value_name = "FOLDER")]
    pub data: Option<PathBuf>,
    /// Make a key that the sandbox accepts, and print its id and the private key.
    #[arg(long, value_name = "ALGORITHM", num_args = 0..=1, default_missing_value = "Ed25519")]
    pub print_key: Option<Algorithm>,
    /// Accept the key with this public key (PEM), and print its id.
    #[arg(long, value_name = "FILE", conflicts_with = "print_key")]
    pub public_key: Option<PathBuf>,
    /// Print an access token with all scopes.
    #[arg(long)]
    pub print_token: bool,
    /// Print one line of JSON in place of text: base_url, accounts, key_id, private_key, token.
    #[arg(long)]
    pub json: bool,
    /// Allow tests to watch and drive it over HTTP, under /_sandbox/, which /openapi.json then describes.
    #[arg(long)]
    control: bool,
    /// Print a line for each request to the standard error: time, method, path with query, status.
    #[arg(long)]
    log: bool,
    /// Serve over https with this chain of certificates (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Private key of the first certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

/// The algorithm of a key.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Algorithm {
    #[value(name = "Ed25519")]
    Ed25519,
    #[value(name = "RSA-SHA256")]
    RsaSha256,
}

impl From<Algorithm> for KeyAlgorithm {
    fn from(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Ed25519 => KeyAlgorithm::Ed25519,
            Algorithm::RsaSha256 => KeyAlgorithm::RsaSha256,
        }
    }
}

impl Arguments {
    /// The options of the sandbox.
    pub fn options(&self) -> Result<Options, String> {
        Ok(Options {
            seed: self.seed,
            host: self.host,
            port: self.port,
            fills: self.fills,
            orders: self.orders,
            plate_stocks: self.plate_stocks,
            token_lifetime: self.token_lifetime,
            clock_offset: self.clock_offset,
            today: self.today,
            faults: faults(&self.faults)?,
            control: if self.control { Control::Described } else { Control::Refused },
            log: self.log,
        })
    }

    /// The files of the certificates and of their key.
    pub fn tls(&self) -> Option<(&PathBuf, &PathBuf)> {
        self.tls_cert.as_ref().zip(self.tls_key.as_ref())
    }
}

fn faults(pairs: &[String]) -> Result<Faults, String> {
    let mut faults = Faults::default();
    for pair in pairs {
        let (name, text) = pair.split_once('=').unwrap_or((pair, ""));
        let invalid = || format!("--faults: '{pair}' is not valid; expected {name}=NUMBER");
        let number = match name {
            "latency" => &mut faults.latency,
            "error_rate" => &mut faults.error_rate,
            "drop_rate" => &mut faults.drop_rate,
            "truncate_rate" => &mut faults.truncate_rate,
            "throttle_rate" => &mut faults.throttle_rate,
            "html_rate" => &mut faults.html_rate,
            "seed" => {
                faults.seed = text.parse().map_err(|_| invalid())?;
                continue;
            }
            _ => {
                return Err(format!(
                    "--faults: '{name}' is not the name of a fault; expected latency, error_rate, \
                     drop_rate, truncate_rate, throttle_rate, html_rate or seed"
                ));
            }
        };
        *number = text.parse().map_err(|_| invalid())?;
    }
    Ok(faults)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(arguments: &[&str]) -> Result<Options, String> {
        let arguments = ["boardlot-sandbox"].iter().chain(arguments);
        Arguments::try_parse_from(arguments).map_err(|error| error.to_string())?.options()
    }

    #[test]
    fn the_defaults_are_those_of_the_library() {
        let options = options(&[]).expect("valid");
        assert_eq!(format!("{options:?}"), format!("{:?}", Options::default()));
    }

    #[test]
    fn faults_are_named_as_in_python() {
        let given = options(&["--faults", "latency=0.5,html_rate=1", "--faults", "seed=3"]);
        let expected = Faults { latency: 0.5, html_rate: 1.0, seed: 3, ..Faults::default() };
        assert_eq!(given.expect("valid").faults, expected);
        for (text, named) in
            [("speed=1", "'speed'"), ("latency", "'latency'"), ("seed=x", "'seed=x'")]
        {
            let error = options(&["--faults", text]).expect_err("refused");
            assert!(error.contains(named), "{error}");
        }
    }

    #[test]
    fn an_encryption_needs_both_files() {
        for one in ["--tls-cert", "--tls-key"] {
            assert!(options(&[one, "file.pem"]).is_err(), "{one}");
        }
    }
}
