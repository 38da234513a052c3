//! Connections that can be cut: by a fault without an answer, and all at once when the sandbox
//! stops.

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
    serve::{IncomingStream, Listener},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::watch,
};

/// Accepts connections until `stop` turns true.
pub struct FaultyListener {
    pub listener: TcpListener,
    pub stop: watch::Receiver<bool>,
}

/// One connection.
pub struct Line {
    stream: TcpStream,
    cut: Cut,
    stopped: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// Cuts the connection that a request came by: nothing more is written to it.
#[derive(Clone, Debug, Default)]
pub struct Cut(Arc<AtomicBool>);

impl Cut {
    pub fn now(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn is_cut(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl Listener for FaultyListener {
    type Io = Line;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Line, SocketAddr) {
        loop {
            match self.listener.accept().await {
                Ok((stream, address)) => {
                    // Small answers would wait for the client's delayed acknowledgement.
                    let _ = stream.set_nodelay(true);
                    let mut stop = self.stop.clone();
                    let stopped = Box::pin(async move {
                        // An error means that the sandbox is gone.
                        let _ = stop.wait_for(|stopped| *stopped).await;
                    });
                    return (Line { stream, cut: Cut::default(), stopped }, address);
                }
                // Out of file handles, or a client that went away at once.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl Connected<IncomingStream<'_, FaultyListener>> for Cut {
    fn connect_info(stream: IncomingStream<'_, FaultyListener>) -> Self {
        stream.io().cut.clone()
    }
}

impl Line {
    fn refuse_when_cut(&self) -> io::Result<()> {
        if self.cut.is_cut() { Err(io::ErrorKind::ConnectionAborted.into()) } else { Ok(()) }
    }
}

impl AsyncRead for Line {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.refuse_when_cut()?;
        match Pin::new(&mut self.stream).poll_read(context, buffer) {
            Poll::Ready(result) => Poll::Ready(result),
            Poll::Pending => {
                // A future that has ended may not be polled again: `cut` remembers it.
                if self.stopped.as_mut().poll(context).is_ready() {
                    self.cut.now();
                    return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
                }
                Poll::Pending
            }
        }
    }
}

impl AsyncWrite for Line {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.refuse_when_cut()?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.refuse_when_cut()?;
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
