//! Connections that can be aborted: one by a fault, and all when the sandbox stops.

use std::{
    future::Future,
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::{
    extract::connect_info::Connected,
    serve::{self, IncomingStream},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::watch,
    time::{Sleep, sleep},
};

/// How long a connection that is closed reads what its client still sends.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Accepts connections until `stop` becomes true.
pub struct Listener {
    pub listener: TcpListener,
    pub stop: watch::Receiver<bool>,
}

/// One connection.
pub struct Connection {
    stream: TcpStream,
    aborter: Aborter,
    stopped: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// The end of reading what is left, once nothing more is written.
    drained_by: Option<Pin<Box<Sleep>>>,
}

/// Aborts the connection of a request: nothing more is written to it.
#[derive(Clone, Debug, Default)]
pub struct Aborter(Arc<AtomicBool>);

impl Aborter {
    pub fn abort(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn is_aborted(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl serve::Listener for Listener {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        loop {
            match self.listener.accept().await {
                Ok((stream, address)) => {
                    // Small responses would wait for the client's delayed acknowledgement.
                    let _ = stream.set_nodelay(true);
                    let mut stop = self.stop.clone();
                    let stopped = Box::pin(async move {
                        // An error means that the sandbox was dropped.
                        let _ = stop.wait_for(|stopped| *stopped).await;
                    });
                    let aborter = Aborter::default();
                    return (Connection { stream, aborter, stopped, drained_by: None }, address);
                }
                // Out of file descriptors, or a client that has already closed the connection.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl Connected<IncomingStream<'_, Listener>> for Aborter {
    fn connect_info(stream: IncomingStream<'_, Listener>) -> Self {
        stream.io().aborter.clone()
    }
}

impl Connection {
    fn check_aborted(&self) -> io::Result<()> {
        if self.aborter.is_aborted() {
            Err(io::ErrorKind::ConnectionAborted.into())
        } else {
            Ok(())
        }
    }

    /// Reads what is left until the client closes the connection, or for a while.
    fn poll_drained(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        timeout: &mut Pin<Box<Sleep>>,
    ) -> Poll<()> {
        let mut scratch = [0; 16 << 10];
        loop {
            let mut buffer = ReadBuf::new(&mut scratch);
            match self.as_mut().poll_read(context, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                    if timeout.as_mut().poll(context).is_ready() {
                        return Poll::Ready(());
                    }
                }
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return timeout.as_mut().poll(context),
            }
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check_aborted()?;
        match Pin::new(&mut self.stream).poll_read(context, buffer) {
            Poll::Ready(result) => Poll::Ready(result),
            Poll::Pending => {
                // A future that has ended may not be polled again: `aborter` remembers it.
                if self.stopped.as_mut().poll(context).is_ready() {
                    self.aborter.abort();
                    return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
                }
                Poll::Pending
            }
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check_aborted()?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check_aborted()?;
        Pin::new(&mut self.stream).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    /// A socket that is closed with unread bytes resets the connection, and the client may lose the
    /// response that it was sent. So the rest of a request that was rejected early is read first.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut timeout = match self.drained_by.take() {
            Some(timeout) => timeout,
            None => {
                ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
                Box::pin(sleep(DRAIN_TIMEOUT))
            }
        };
        let drained = self.as_mut().poll_drained(context, &mut timeout);
        self.drained_by = Some(timeout);
        drained.map(Ok)
    }
}
