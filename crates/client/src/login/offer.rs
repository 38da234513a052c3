//! The one channel for the callbacks of a login, whether browsers send them or users paste them.

use tokio::sync::{mpsc, oneshot};

use super::callback::Callback;

/// A callback that is offered to a login, and the channel for the answer.
pub struct Offer {
    pub callback: Callback,
    pub answer: oneshot::Sender<Answer>,
}

/// The answer of a login to a callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The callback completed the login: the tokens are stored.
    Done,
    /// The callback ended the login, which failed.
    Failed,
    /// The callback is not for this login, which keeps waiting; and the reason.
    Unrelated(&'static str),
    /// The login had already ended.
    Ended,
}

/// The channel on which callbacks are offered to a login.
#[derive(Debug, Clone)]
pub struct Offers(mpsc::Sender<Offer>);

impl Offers {
    /// Creates a channel for this many callbacks at once, and the end at which the login receives
    /// them.
    pub fn channel(size: usize) -> (Self, mpsc::Receiver<Offer>) {
        let (offers, inbox) = mpsc::channel(size);
        (Offers(offers), inbox)
    }

    /// Offers a callback, and waits for the answer.
    pub async fn offer(&self, callback: Callback) -> Answer {
        let (answer, answered) = oneshot::channel();
        match self.0.send(Offer { callback, answer }).await {
            Ok(()) => answered.await.unwrap_or(Answer::Ended),
            Err(_) => Answer::Ended,
        }
    }
}

boardlot_service::shown_as!(Offer, "Offer(..)");
