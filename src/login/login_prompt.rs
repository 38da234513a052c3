//! The output of `login` if it cannot open a browser on this machine.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyException;

use crate::prelude::*;
use boardlot_client::{login::Flow, os::runtime::runtime};

/// Printed to stderr. If stdin is a terminal, the callback URL can be pasted into it.
pub struct Prompt {
    flow: Arc<Flow>,
    /// `sys.stdin`, if it is a terminal.
    stdin: Option<Py<PyAny>>,
    /// The reason why the last pasted URL was refused.
    refused: Arc<Mutex<Option<String>>>,
}

impl Prompt {
    pub fn show(py: Python<'_>, flow: Arc<Flow>) -> PyResult<Self> {
        let stdin = terminal(py)?;
        let (url, port) = (flow.url(), flow.port);
        let address = format!(
            "the address that the browser then cannot open (it begins with \
             http://127.0.0.1:{port}/callback?)"
        );
        let otherwise = match stdin {
            Some(_) => format!("log in, copy {address}, paste it here and press Enter"),
            None => format!(
                "start again in a terminal, where {address} can be pasted, or in Python with \
                 flow = boardlot.begin_login(...), whose flow.finish(callback_url) takes it"
            ),
        };
        print(
            py,
            &format!(
                "Open this address in a browser to log in:\n\n    {url}\n\n\
                 If that browser runs on another machine, do one of these:\n\
                 - forward the port first, from that machine to this one:\n\n    \
                 ssh -N -L {port}:127.0.0.1:{port} HOST\n\n\
                 - or {otherwise}.\n"
            ),
        )?;
        Ok(Prompt { flow, stdin, refused: Arc::default() })
    }

    /// Called regularly during the login.
    pub fn poll(&self, py: Python<'_>) -> PyResult<()> {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(refused) = refused {
            print(py, &format!("{refused}\n"))?;
        }
        let Some(stdin) = &self.stdin else { return Ok(()) };
        let ready = import(py, "select")?.invoke_method("select", ([stdin], (), (), 0))?;
        if ready.get_item(0)?.is_empty()? {
            return Ok(());
        }
        let line: String = stdin.bind(py).invoke_method("readline", ())?.extract()?;
        if line.trim().is_empty() {
            return Ok(());
        }
        let (flow, refused) = (self.flow.clone(), self.refused.clone());
        let runtime = runtime().or_raise(py)?;
        runtime.spawn(async move {
            if let Err(error) = flow.offer(&line).await {
                *refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
            }
        });
        Ok(())
    }
}

/// `sys.stdin`, if it is a terminal that `select` supports.
fn terminal(py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
    let stdin = import(py, "sys")?.getattr("stdin")?;
    let is_terminal = cfg!(unix)
        && !stdin.is_none()
        && says_yes(py, stdin.invoke_method("isatty", ()).and_then(|tty| tty.is_truthy()))?
        && says_yes(py, stdin.invoke_method("fileno", ()).map(|_| true))?;
    Ok(is_terminal.then(|| stdin.unbind()))
}

/// A stream that raises an error, such as one that is closed, says no.
fn says_yes(py: Python<'_>, said: PyResult<bool>) -> PyResult<bool> {
    match said {
        Err(error) if error.is_instance_of::<PyException>(py) => Ok(false),
        said => said,
    }
}

fn print(py: Python<'_>, text: &str) -> PyResult<()> {
    let stderr = import(py, "sys")?.getattr("stderr")?;
    if !stderr.is_none() {
        stderr.invoke_method("write", (text,))?;
        stderr.invoke_method("flush", ())?;
    }
    Ok(())
}
