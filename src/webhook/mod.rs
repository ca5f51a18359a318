//! Webhooks: notifications that the service sends when something happened to a task.
//!
//! The contract says that a request may name a `webhook_url` and a `webhook_secret`, and that the
//! secret serves signature verification. It shows neither the payload nor the signature, so
//! everything in which services differ is a setting of the [`Verifier`], and an [`Event`] is a
//! hint: [`Client::confirm`](crate::Client::confirm) polls the task with the key before anybody
//! acts on it.
//!
//! ```
//! # use imagekiln::{Client, Error, TaskRef};
//! use imagekiln::webhook::Verifier;
//! # use reqwest::header::HeaderMap;
//!
//! # async fn receive(client: Client, task: TaskRef, headers: HeaderMap, body: Vec<u8>) -> Result<(), Error> {
//! let verifier = Verifier::hmac_sha256("the webhook_secret of the request").header("x-webhook-signature");
//! let event = verifier.verify(&headers, &body)?;
//! let update = client.confirm(&event, &task).await?;
//! println!("{} is {}", task.id(), update.status());
//! # Ok(())
//! # }
//! ```
//!
//! With the feature `axum`, [`Receiver`] does all of this for an HTTP server. The
//! [guide](crate::guide::webhooks) shows how.

mod confirm;
mod encoding;
mod event;
mod header;
mod hmac_sha256;
mod key;
#[cfg(feature = "axum")]
mod receiver;
mod refusal;
mod shared_secret;
mod standard;
mod verifier;

pub use encoding::Encoding;
pub use event::Event;
#[cfg(feature = "axum")]
pub use receiver::Receiver;
pub use refusal::Refusal;
pub use verifier::Verifier;
