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
    task::{Context, Poll},
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
};

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
                    return (Connection { stream, aborter: Aborter::default(), stopped }, address);
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

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
