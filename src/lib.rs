//! Generates and edits pictures with an asynchronous, paid image service.
//!
//! A picture takes three steps. The client submits a request (one POST), and the service creates a
//! task and bills it. The client polls the task until its status is final, which takes seconds or
//! minutes. It then downloads the picture from a signed URL, which is valid for ten minutes.
//!
//! # Money and crashes
//!
//! The payment comes first, and the picture later. In between, a response can be lost, the program
//! can crash, and the URL can expire. A program that then submits the same request again pays
//! twice. A program that does not may lose a picture that it has paid for. The service has no
//! idempotency keys that would help, so the SDK has these rules:
//!
//! - It sends a submission again only if the service certainly did not accept the first one.
//! - It repeats polls and downloads, which are free, until a deadline.
//! - Every error says whether the submission was billed: [`Error::billing`].
//! - A [`journal`] has each submission on disk before it is sent. After a crash, [`Client::resume`]
//!   returns the tasks whose pictures were not saved.
//! - A program can name its pictures, and [`Client::submit_once`] pays for each name at most once.
//!
//! # The first program
//!
//! ```rust,test_harness
//! use imagekiln::{Client, types::Gen2Pro};
//!
//! #[tokio::main]
//! async fn main() -> Result<(), imagekiln::Error> {
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
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/guide/main.in"));
//! ```
//!
//! The program needs the crate `tokio` with the features `macros` and `rt-multi-thread`, and reads
//! the key and the base URL of the service from the environment. `kiln`, the command line of
//! imagekiln, runs the program against a simulator, without a key: `kiln simulate -- cargo run`.
//! The guide to [generating a picture](guide::generate) has every command from an empty folder to
//! the picture.
//!
//! # Where to start
//!
//! | to do this | use | guide |
//! |---|---|---|
//! | generate a picture | [`Client::submit`], [`Task::wait`], [`Picture::save`] | [generate](guide::generate) |
//! | edit a picture with reference images | `references`, [`ImageInput`] | [edit](guide::edit) |
//! | fill a masked area, erase, expand | [`types::GenPro10Fill`], [`types::GenToolsEraseV1`] | [inpaint](guide::inpaint) |
//! | handle errors, and know what was billed | [`Error::billing`], [`ErrorKind`] | [money](guide::money) |
//! | pay for a picture once, even after a crash | [`Client::submit_once`], [`journal`] | [once](guide::once) |
//! | make a hundred pictures, a few at a time | [`ClientBuilder::max_active`] | [many](guide::many) |
//! | make thousands, with limits per user, on several machines | the crate [imagekiln-batch] | |
//! | receive webhooks | `webhook` (features `axum`, `webhook`) | [webhooks](guide::webhooks) |
//! | test a program without a key | the crate [imagekiln-simulator] | [testing](guide::testing) |
//! | set up proxies, headers, deadlines, TLS | [`ClientBuilder`], [`middleware`] | [transport](guide::transport) |
//! | log and record what the service returns | [`recording`] | [transport](guide::transport#logs) |
//! | export traces and metrics | feature `metrics` | [observe](guide::observe) |
//! | use no async runtime | `blocking::Client` (feature `blocking`) | |
//! | choose the operation at run time | [`operations()`], [`Request`] | |
//!
//! # The modules
//!
//! | module | contents |
//! |---|---|
//! | [`types`] | a request type for each operation of the service, generated from its contract |
//! | [`guide`] | guides with whole programs, one question each |
//! | [`journal`] | the record of submissions on disk, and keys |
//! | [`middleware`] | code of the program that runs around each HTTP request |
//! | [`recording`] | redacted copies of requests and responses |
//! | `blocking` | the client for programs without an async runtime |
//! | `webhook` | verified events of the service, and a receiver |
//!
//! # The usual items
//!
//! Most programs need no others:
//!
//! | for | items |
//! |---|---|
//! | a client | [`Client`], [`ClientBuilder`], [`RetryPolicy`] |
//! | a request | [`types`], [`ImageInput`], [`AspectRatio`] |
//! | a task | [`Task`], [`TaskRef`], [`TaskStatus`], [`WaitOptions`], [`Update`], [`Updates`] |
//! | its picture | [`Picture`], [`Saved`], [`SaveOptions`] |
//! | errors | [`Error`], [`ErrorKind`], [`Billing`] |
//! | a restart | [`Unfinished`], [`Once`] |
//!
//! Some public items are hidden in this documentation: they are for `kiln` and the batches, and may
//! change with any version.
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
//!
//! [imagekiln-batch]: https://docs.rs/imagekiln-batch
//! [imagekiln-simulator]: https://docs.rs/imagekiln-simulator

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
    Field, FieldKind, Limits, Operation, OperationKind, PathParameter, Request, Submit,
    find_operation, operations,
};
pub use self::error::{Billing, Error, ErrorKind};
/// The types of requests and responses: one request type for each operation of the service.
///
/// The build script generates the types from the contract of the service, `openapi.json`: their
/// fields, their limits and the checks of [`Request::validate`]. The name of a type is the path of
/// its operation, so `POST /v1/gen-2-pro` is [`Gen2Pro`](types::Gen2Pro). The search of this
/// documentation finds a type by its path (`gen-2-pro`) and by what it does (`inpaint`, `try-on`,
/// `lora`).
///
/// # Examples
///
/// Required fields are arguments of `new`, the others have setters. A field that is not set is not
/// sent:
///
/// ```
/// use imagekiln::types::Gen2Pro;
///
/// let request = Gen2Pro::new("a red fox").width(1024).height(768).output_format("png");
/// assert!(request.validate().is_ok());
///
/// let error = Gen2Pro::new("a red fox").width(16).validate().unwrap_err();
/// assert_eq!(error.violations().len(), 1);
/// ```
#[doc(inline)]
pub use self::generated::types;
pub use self::once::Once;
pub use self::picture::{Picture, PictureStream, SaveOptions, Saved};
pub use self::resume::Unfinished;
pub use self::retry::RetryPolicy;
pub use self::settings::ClientBuilder;
pub use self::task::{
    Durations, SubmissionResponse, SubmitOptions, Task, Update, Updates, WaitOptions,
};
pub use self::transport::{middleware, recording};
pub use self::values::{
    Address, AspectRatio, Damaged, Extra, FileKind, ImageInput, IntoField, Location, ParseError,
    Region, Secret, TaskRef, TaskStatus, Violation,
};
// For `kiln` and the batches.
#[doc(hidden)]
pub use self::{
    contract::{CompleteModel, Need, NeedKind, complete_model, find_model, models},
    error::WaitEnd,
    generated::KEY_HEADER,
    picture::{Asked, DownloadedPicture},
    retry::Backoff,
    settings::{
        ALLOW_HTTP_VARIABLE, API_KEY_VARIABLE, BASE_URL_VARIABLE, MODEL_PREFIX_VARIABLE, Preview,
        WEBHOOK_SECRET_VARIABLE, WEBHOOK_URL_VARIABLE,
    },
    task::{Outcomes, Slot},
    values::{DELIVERY_VALIDITY, REGIONAL_BASE_URL_VARIABLE, digest_of_file, text},
};
