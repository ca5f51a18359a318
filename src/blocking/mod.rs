//! A client for programs without an async runtime (feature `blocking`).
//!
//! The types are those of the async client in a [`Blocking`]. Methods have the names of the async
//! ones and keep the same promises. They do not return futures, and the streams are iterators.
//! [`ClientBuilder::build_blocking`] builds a client from the same settings.
//!
//! ```
//! use imagekiln::{blocking::Client, types::Gen2Pro};
//!
//! fn fox() -> Result<(), imagekiln::Error> {
//!     let client = Client::from_env()?;
//!     let request = Gen2Pro::new("a red fox in the snow").output_format("png");
//!     let task = client.submit(request)?;
//!     if let Some(credits) = task.cost() {
//!         println!("{} costs {credits} credits", task.id());
//!     }
//!     task.wait()?.save("fox.png")?;
//!     Ok(())
//! }
//! ```
//!
//! A client has a thread of its own, which sends the requests of all its clones. A submission runs
//! there to its end, even if [`ClientBuilder::submit_deadline`] has ended the call, or if the
//! client has been dropped: the thread ends after the last submission. Call [`Client::drain`]
//! before the program ends.
//!
//! # In async code
//!
//! A call that blocks the thread of a runtime would stop other tasks. Calls in async code return an
//! error of kind [`Usage`](crate::ErrorKind::Usage) and send nothing. They never panic, and a
//! client may be dropped anywhere. Use [`imagekiln::Client`](crate::Client) in async code, or move
//! the call to [`tokio::task::spawn_blocking`].
//!
//! # What only the async client has
//!
//! - `webhook::Receiver`, which is a part of an async web server.
//! - [`Journal`](crate::journal::Journal) and [`Middleware`](crate::middleware::Middleware) are the
//!   same for both clients. They run on the thread of the client, which they must not block.
//!
//! [`ClientBuilder::build_blocking`]: crate::ClientBuilder::build_blocking
//! [`ClientBuilder::submit_deadline`]: crate::ClientBuilder::submit_deadline

mod background;
mod client;
mod picture;
mod task;

use std::{fmt, future::poll_fn, ops::Deref, pin::Pin, sync::Arc};

use futures_core::Stream;

use self::background::Background;
pub use self::client::{Client, Unfinished};
pub use self::picture::{Picture, PictureStream};
pub use self::task::{Task, Update, Updates};
use crate::Error;

/// A value of the async client whose methods block.
///
/// It dereferences to the async value, whose other methods neither wait nor send anything.
#[derive(Clone)]
#[must_use = "a task and its picture are billed: wait for it, fetch it, or keep its reference"]
pub struct Blocking<T> {
    // Dropped before the thread may end.
    inner: T,
    background: Arc<Background>,
}

impl<T> Blocking<T> {
    /// Makes another value of the same client blocking.
    fn with<O>(&self, inner: O) -> Blocking<O> {
        Blocking { inner, background: Arc::clone(&self.background) }
    }
}

impl<T> Deref for Blocking<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: fmt::Debug> fmt::Debug for Blocking<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl<S> Blocking<Option<S>> {
    /// Returns the next item of a stream, which is `None` after its end.
    fn next_item<T>(&mut self) -> Option<Result<T, Error>>
    where
        S: Stream<Item = Result<T, Error>> + Send + Unpin + 'static,
        T: Send + 'static,
    {
        let mut stream = self.inner.take()?;
        let next = self.background.run(async move {
            let item = poll_fn(|cx| Pin::new(&mut stream).poll_next(cx)).await.transpose()?;
            Ok((stream, item))
        });
        match next {
            Ok((stream, item)) => {
                let item = item?;
                self.inner = Some(stream);
                Some(Ok(item))
            }
            Err(error) => Some(Err(error)),
        }
    }
}
