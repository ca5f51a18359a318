//! Webhooks: notifications from the service about changes of a task.
//!
//! A request can have a `webhook_url` and a `webhook_secret`. The service posts an event to this
//! URL when the task changes, and signs it with the secret. The contract defines neither the
//! payload nor the signature. The [`Verifier`] therefore has settings for everything in which
//! services differ.
//!
//! An [`Event`] is only a hint, because it may be late, repeated or forged. Pass it to
//! [`Client::confirm`](crate::Client::confirm), which polls the task with the key, before the
//! program acts on it. With the feature `axum`, [`Receiver`] does all of this in an HTTP server:
//! see the [guide](crate::guide::webhooks).
//!
//! ```
//! use imagekiln::{middleware::HeaderMap, webhook::Verifier};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let verifier = Verifier::hmac_sha256("32 random bytes").header("x-webhook-signature");
//!
//!     // What a web server has received:
//!     let body = r#"{"id": "f7a1c9", "status": "Ready"}"#;
//!     let signature =
//!         "sha256=5b46a8475c9909777d12c7672af80e49a49b87d3c2eb226533730e42e9eb4ea1";
//!     let headers = HeaderMap::from_iter([("x-webhook-signature".parse()?, signature.parse()?)]);
//!
//!     let event = verifier.verify(&headers, body)?;
//!     assert_eq!(event.task_id(), Some("f7a1c9"));
//!     assert!(verifier.verify(&headers, r#"{"id": "forged"}"#).is_err());
//!     Ok(())
//! }
//! ```

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
