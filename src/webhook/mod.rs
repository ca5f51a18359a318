//! Webhooks: notifications from the service about changes of a task.
//!
//! The contract defines that a request may have a `webhook_url` and a `webhook_secret`, and that
//! the secret is used to verify signatures. It defines neither the payload nor the signature. The
//! [`Verifier`] therefore has settings for everything in which services differ, and an [`Event`] is
//! only a hint: [`Client::confirm`](crate::Client::confirm) polls the task with the key before the
//! program acts on it.
//!
//! ```
//! # use imagekiln::{Client, Error, TaskRef};
//! use imagekiln::webhook::Verifier;
//! # use reqwest::header::HeaderMap;
//!
//! # async fn receive(
//! #     client: Client,
//! #     task: TaskRef,
//! #     headers: HeaderMap,
//! #     body: Vec<u8>,
//! # ) -> Result<(), Error> {
//! let verifier = Verifier::hmac_sha256("the webhook_secret of the request")
//!     .header("x-webhook-signature");
//! let event = verifier.verify(&headers, &body)?;
//! let update = client.confirm(&event, &task).await?;
//! println!("{} is {}", task.id(), update.status());
//! # Ok(())
//! # }
//! ```
//!
//! With the feature `axum`, [`Receiver`] does this in an HTTP server. The
//! [guide](crate::guide::webhooks) shows how.

mod event;
#[cfg(feature = "axum")]
mod receiver;
mod scheme;
mod verifier;

pub use self::event::Event;
#[cfg(feature = "axum")]
pub use self::receiver::Receiver;
pub use self::scheme::{Encoding, Rejection};
pub use self::verifier::Verifier;
