//! Nine guides, each with examples that run against the simulator when the documentation is
//! tested.
//!
//! | guide | what it shows |
//! |---|---|
//! | [`generate`] | from a prompt to a file |
//! | [`edit`] | editing with reference images |
//! | [`inpaint`] | filling, erasing and expanding |
//! | [`money`] | what each error means for the money, and what to do |
//! | [`many`] | a hundred pictures, a few at a time, and what happens after a crash |
//! | [`webhooks`] | receiving events instead of polling often |
//! | [`testing`] | testing your own program without a key |
//! | [`transport`] | TLS, proxies, headers, deadlines, hooks, logs |
//! | [`observe`] | spans for OpenTelemetry, and metrics |

// The names that the pages link to.
#[cfg(doc)]
use crate::{
    Client, ClientBuilder, Error, ErrorKind, ImageInput, Picture, Request, RetryPolicy,
    SubmitOptions, Task, Unfinished, Update, WaitOptions, journal,
    middleware::Middleware,
    operations,
    recording::{Recorder, Recording},
    types::{self, *},
};

#[doc = include_str!("generate.md")]
pub mod generate {}

#[doc = include_str!("edit.md")]
pub mod edit {}

#[doc = include_str!("inpaint.md")]
pub mod inpaint {}

#[doc = include_str!("money.md")]
pub mod money {}

#[doc = include_str!("many.md")]
pub mod many {}

#[cfg_attr(any(not(doctest), feature = "axum"), doc = include_str!("webhooks.md"))]
pub mod webhooks {}

#[doc = include_str!("testing.md")]
pub mod testing {}

#[doc = include_str!("transport.md")]
pub mod transport {}

#[doc = include_str!("observe.md")]
pub mod observe {}

/// The program of the README is tested with the guides.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
mod readme {}
