//! Guides: each answers one question, with a program that a test runs against the simulator.
//!
//! Read [`generate`] first: it sets up a program, and explains the four steps from a prompt to a
//! file. Then learn how not to pay twice, in this order: [`money`] says what an error means for the
//! bill, [`once`] makes a restart safe, and [`many`] makes a hundred pictures in this way. The
//! other guides can be read in any order.
//!
//! | guide | question |
//! |---|---|
//! | [`generate`] | How does a program get from a prompt to a file? |
//! | [`edit`] | How does a program change pictures that it has, or combine them? |
//! | [`inpaint`] | How does a program change a part of a picture, or enlarge the picture? |
//! | [`money`] | A submission failed: was it billed, and may the program submit again? |
//! | [`once`] | How does a program that may crash pay for a picture only once? |
//! | [`many`] | How does a program make a hundred pictures, a few at a time? |
//! | [`webhooks`] | How does a program learn at once that a task has ended? |
//! | [`testing`] | How does a test show that a program pays once, without a key? |
//! | [`transport`] | How does a program bound its waits, use a proxy, and see its requests? |
//! | [`observe`] | How does a person see what a running program does and pays? |
//!
//! A program that makes thousands of pictures, limits its users, or runs on several machines
//! outgrows these guides: use the crate [imagekiln-batch](https://docs.rs/imagekiln-batch).

// The names that the pages link to.
#[cfg(doc)]
use crate::{
    Client, ClientBuilder, Error, ErrorKind, FileKind, ImageInput, Picture, Request, RetryPolicy,
    SubmitOptions, Task, Unfinished, Update, WaitOptions,
    journal::{self, Directory, Key},
    middleware::Middleware,
    operations,
    recording::Recording,
    types::{self, *},
};

// The last line of a program is hidden. It includes `main.in`, or the `.in` file of the page, which
// runs the program in an empty folder against a simulator.
#[doc = include_str!("generate.md")]
pub mod generate {}

#[doc = include_str!("edit.md")]
pub mod edit {}

#[doc = include_str!("inpaint.md")]
pub mod inpaint {}

#[doc = include_str!("money.md")]
pub mod money {}

#[doc = include_str!("once.md")]
pub mod once {}

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
