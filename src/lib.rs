//! The SDK of an asynchronous image generation and editing service.
//!
//! A submission (one POST) creates a paid task; the task is polled until its status is final; the
//! picture lies at a signed delivery address for ten minutes. Two promises hold this crate
//! together: what the contract (`openapi.json`) says, the types say; and no paid picture is ever
//! lost, and none is ever paid for twice.
//!
//! ```
//! use imagekiln::{Client, types::Gen2Pro};
//!
//! async fn fox() -> Result<(), imagekiln::Error> {
//!     let client = Client::from_env()?;
//!     let request = Gen2Pro::new("a red fox in the snow").width(1024).height(768).seed(7);
//!     let task = client.submit(request).await?; // the POST happens here, and only here
//!     println!("{} costs {:?} credits", task.id(), task.cost());
//!     task.wait().await?.save("fox.png").await?;
//!     Ok(())
//! }
//! ```
//!
//! Every operation of the contract has a request type in [`types`], with a constructor that takes
//! what is required and a setter for the rest. Programs that work with all operations at once start
//! from [`operations()`] and [`Request`].
//!
//! With a [`journal`], what was submitted outlives the process. With the feature `webhook`,
//! deliveries of the service are verified and confirmed; with the feature `axum`, they are received
//! as well.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod client;
mod contract;
mod error;
/// Written by `build.rs` from `openapi.json`.
#[allow(missing_docs, dead_code, deprecated, clippy::all, rustdoc::all, unused_imports, unused_mut)]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/generated.rs"));
}
pub mod journal;
/// Code of the program around every HTTP exchange.
pub mod middleware {
    pub use crate::transport::middleware::{Exchange, HeaderMap, Middleware, Outcome, Purpose};
}
mod picture;
mod settings;
mod task;
mod transport;
mod values;
#[cfg(feature = "webhook")]
pub mod webhook;

pub(crate) use transport::hooks;

pub use client::Client;
pub use contract::{
    Field, FieldKind, ImageEncodings, IntoJson, Limits, Operation, PathParameter, Request, Submit,
    find_operation, operations,
};
pub use error::{Billing, Error, ErrorKind, WaitEnd};
/// The types of requests and answers, made from the contract: one request type for every operation.
#[doc(inline)]
pub use generated::types;
#[doc(inline)]
pub use generated::types::OutputFormat;
pub use picture::{DELIVERY_VALIDITY, Picture, PictureStream, SaveOptions, Saved};
pub use settings::{
    ALLOW_HTTP_VARIABLE, API_KEY_VARIABLE, BASE_URL_VARIABLE, ClientBuilder, MODEL_PREFIX_VARIABLE,
    REGIONAL_BASE_URL_VARIABLE, WEBHOOK_SECRET_VARIABLE, WEBHOOK_URL_VARIABLE,
};
pub use task::{Answer, Task, Unfinished, Update, Updates, WaitOptions};
pub use transport::retry::RetryPolicy;
pub use values::{
    Address, AspectRatio, AspectRatioError, Extra, FileKind, ImageInput, ImageSource,
    ImageUrlError, Location, Region, TaskRef, TaskStatus, Violation, WebhookSecret,
};
