//! A client for programs without an async runtime (feature `blocking`).
//!
//! The types and methods have the names of the async ones, and keep the same promises. They do not
//! return futures, and the streams are iterators. [`ClientBuilder::build_blocking`] builds a client
//! from the same settings.
//!
//! ```
//! use imagekiln::{blocking::Client, types::Gen2Pro};
//!
//! fn fox() -> Result<(), imagekiln::Error> {
//!     let client = Client::from_env()?;
//!     let task = client.submit(Gen2Pro::new("a red fox in the snow"))?;
//!     println!("{} costs {:?} credits", task.id(), task.cost());
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
//! error of kind [`Settings`](crate::ErrorKind::Settings) and send nothing. They never panic, and a
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

pub use self::client::{Client, Unfinished};
pub use self::picture::{Picture, PictureStream};
pub use self::task::{Task, Update, Updates};
