//! A client for an asynchronous image generation and editing service.
//!
//! A submission (one POST) creates a paid task. The client polls the task until its status is
//! final, and fetches the picture from a signed URL that is valid for ten minutes. Types, limits
//! and checks come from the service's contract (`openapi.json`) at compile time. No paid picture is
//! lost, and none is paid for twice.
//!
//! ```
//! use imagekiln::{Client, types::Gen2Pro};
//!
//! async fn fox() -> Result<(), imagekiln::Error> {
//!     let client = Client::from_env()?;
//!     let request = Gen2Pro::new("a red fox in the snow").width(1024).height(768).seed(7);
//!     let request = request.output_format("png");
//!     let task = client.submit(request).await?; // the POST happens here, and only here
//!     if let Some(credits) = task.cost() {
//!         println!("{} costs {credits} credits", task.id());
//!     }
//!     task.wait().await?.save("fox.png").await?;
//!     Ok(())
//! }
//! ```
//!
//! # The twenty items that most programs need
//!
//! | for | items |
//! |---|---|
//! | a client | [`Client`], [`ClientBuilder`], [`RetryPolicy`] |
//! | a request | [`types`], [`ImageInput`], [`AspectRatio`], [`OutputFormat`] |
//! | a task | [`Task`], [`TaskRef`], [`TaskStatus`], [`WaitOptions`], [`Update`], [`Updates`] |
//! | its picture | [`Picture`], [`Saved`], [`SaveOptions`] |
//! | errors | [`Error`], [`ErrorKind`], [`Billing`] |
//! | a restart | [`Unfinished`], [`Once`] |
//!
//! # Where to start
//!
//! | to do this | use | guide |
//! |---|---|---|
//! | generate a picture | [`Client::submit`], [`Task::wait`], [`Picture::save`] | [generate](guide::generate) |
//! | edit a picture with reference images | `references`, [`ImageInput`] | [edit](guide::edit) |
//! | fill a masked area | [`types::GenPro10Fill`] | [inpaint](guide::inpaint) |
//! | erase, expand | [`types::GenToolsEraseV1`], [`types::GenPro10Expand`] | [inpaint](guide::inpaint) |
//! | handle errors, and know what was billed | [`Error::billing`], [`ErrorKind`] | [money](guide::money) |
//! | make many pictures, and survive a crash | [`Client::submit_once`], [`journal`] | [many](guide::many) |
//! | receive webhooks | `webhook` (features `axum`, `webhook`) | [webhooks](guide::webhooks) |
//! | test a program without a key | the crate `imagekiln-simulator` | [testing](guide::testing) |
//! | set up proxies, headers, deadlines, TLS | [`ClientBuilder`], [`middleware`] | [transport](guide::transport) |
//! | log and record what the service returns | [`recording`] | [transport](guide::transport#logs) |
//! | use it without an async runtime | `blocking::Client` (feature `blocking`) | |
//! | export traces and metrics | feature `metrics` | [observe](guide::observe) |
//! | work with every operation at run time | [`operations()`], [`Request`] | |
//!
//! Every operation of the contract has a request type in [`types`]. The search of this
//! documentation finds it by its path (`gen-2-pro`) and by what it does (`inpaint`, `try-on`,
//! `lora`).
//!
//! # Cargo features
//!
//! | feature | what it does |
//! |---|---|
//! | `rustls` (default) | TLS by rustls with aws-lc-rs, as reqwest sets it up by itself |
//! | `native-tls` | TLS by the library of the system; takes precedence over `rustls` |
//! | `schemars` | `JsonSchema` for the types of requests and responses |
//! | `webhook` | verifies webhooks, and confirms their events |
//! | `axum` | a receiver of webhooks for axum; includes `webhook` |
//! | `blocking` | a client for programs without an async runtime |
//! | `metrics` | counters and histograms through the facade `metrics` |
//!
//! Without `rustls` and `native-tls`, only `http://` addresses work, unless
//! [`ClientBuilder::http_client`] sets up TLS.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing))]

#[cfg(feature = "blocking")]
pub mod blocking;
mod client;
mod contract;
mod error;
/// `build.rs` writes it from `openapi.json`.
#[allow(missing_docs, dead_code, deprecated, clippy::all, rustdoc::all, unused_imports, unused_mut)]
// progenitor's constructor is not used, and the indices are those of the table beside them.
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/generated.rs"));
}
pub mod guide;
pub mod journal;
mod once;
mod picture;
mod resume;
mod retry;
mod settings;
mod task;
mod telemetry;
mod transport;
mod values;
#[cfg(feature = "webhook")]
pub mod webhook;

pub use self::client::Client;
pub use self::contract::{
    Field, FieldKind, ImageEncodings, Limits, Need, NeedKind, Operation, OperationKind,
    PathParameter, Request, Submit, find_model, find_operation, models, operations,
};
pub use self::error::{Billing, Error, ErrorKind, WaitEnd};
/// The types of requests and responses, made from the contract: one request type for each
/// operation.
#[doc(inline)]
pub use self::generated::types;
#[doc(inline)]
pub use self::generated::types::OutputFormat;
pub use self::once::Once;
pub use self::picture::{DownloadedPicture, Picture, PictureStream, SaveOptions, Saved};
pub use self::resume::Unfinished;
pub use self::retry::RetryPolicy;
pub use self::settings::ClientBuilder;
pub use self::task::{
    Durations, SubmissionResponse, SubmitOptions, Task, Update, Updates, WaitOptions,
};
pub use self::transport::{middleware, recording};
pub use self::values::{
    Address, AspectRatio, DELIVERY_VALIDITY, Damaged, Extra, FileKind, ImageInput, IntoField,
    IntoJson, Location, ParseError, Region, Secret, TaskRef, TaskStatus, Violation, WebhookSecret,
};
// For `kiln` and the batches. Items that are hidden may change with any version.
#[doc(hidden)]
pub use self::{
    contract::{CompleteModel, complete_model},
    generated::KEY_HEADER,
    picture::Asked,
    retry::Backoff,
    settings::{
        ALLOW_HTTP_VARIABLE, API_KEY_VARIABLE, BASE_URL_VARIABLE, MODEL_PREFIX_VARIABLE, Preview,
        WEBHOOK_SECRET_VARIABLE, WEBHOOK_URL_VARIABLE,
    },
    task::{Outcomes, Slot},
    values::{REGIONAL_BASE_URL_VARIABLE, text},
};
