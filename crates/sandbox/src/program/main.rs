//! `boardlot-sandbox`: the whole service on this machine, for clients in any language.

mod arguments;
mod encryption;
mod own_data;

use std::{
    error::Error,
    io::{self, Write},
    process::ExitCode,
    time::Duration,
};

use boardlot_sandbox::{ACCOUNTS, Sandbox};
use clap::Parser;
use serde_json::json;

use arguments::Arguments;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Time limit for ending. Containers are killed 10 seconds after SIGTERM.
const LONGEST_END: Duration = Duration::from_secs(8);

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "boardlot-sandbox: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Serves until a signal.
fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let encryption = arguments.tls().map(|(certificates, key)| encryption::read(certificates, key));
    let sandbox =
        Sandbox::start_encrypted(arguments.options()?, runtime.handle(), encryption.transpose()?)?;
    if let Some(folder) = &arguments.data {
        own_data::serve(&sandbox, folder)?;
    }
    // Installed before the line is printed for which the caller of this program waits.
    let ended = {
        let _entered = runtime.enter();
        signals()?
    };
    announce(arguments, &sandbox)?;
    runtime.block_on(ended);
    if !sandbox.finish(LONGEST_END) {
        writeln!(io::stderr(), "boardlot-sandbox: some responses were not sent completely")?;
    }
    Ok(())
}

/// Prints the values that a client needs, and the line with the address last.
fn announce(arguments: &Arguments, sandbox: &Sandbox) -> Result<(), Box<dyn Error>> {
    let mut ready = json!({ "base_url": sandbox.base_url() });
    let mut lines = Vec::new();
    if let Some(file) = &arguments.public_key {
        let pem = own_data::text_of(file)?;
        let key_id = sandbox.upload_key(&pem)?;
        lines.push(format!("key id: {key_id}"));
        add(&mut ready, "key_id", key_id);
    } else if let Some(algorithm) = arguments.print_key {
        let (key_id, private_key) = sandbox.new_key(algorithm.into())?;
        lines.push(format!("key id: {key_id}\n{}", private_key.trim_end()));
        add(&mut ready, "key_id", key_id);
        add(&mut ready, "private_key", private_key);
    }
    if arguments.print_token {
        let token = sandbox.add_bearer_token();
        lines.push(format!("token: {token}"));
        add(&mut ready, "token", token);
    }
    let mut accounts = json!({});
    for (kind, ids) in ACCOUNTS {
        add(&mut accounts, kind, ids.to_vec());
    }
    add(&mut ready, "accounts", accounts);
    let text = if arguments.json {
        ready.to_string()
    } else {
        lines.push(format!("listening on {}", sandbox.base_url()));
        lines.join("\n")
    };
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()?;
    Ok(())
}

fn add(object: &mut serde_json::Value, name: &str, value: impl Into<serde_json::Value>) {
    if let Some(members) = object.as_object_mut() {
        members.insert(name.to_owned(), value.into());
    }
}

/// Ends at the first SIGTERM or SIGINT. Once this is called, neither signal ends the program by
/// itself.
#[cfg(unix)]
fn signals() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminated = signal(SignalKind::terminate())?;
    let mut interrupted = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminated.recv() => {}
            _ = interrupted.recv() => {}
        }
    })
}

/// Ends at the first Ctrl-C.
#[cfg(not(unix))]
fn signals() -> io::Result<impl Future<Output = ()>> {
    Ok(async { drop(tokio::signal::ctrl_c().await) })
}
