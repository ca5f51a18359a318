//! What kiln remembers of its submissions, so that a killed command loses no paid picture.
//!
//! The history is a directory with one file for each submission. The journal of the SDK is for one
//! process at a time, and so is a SQLite ledger of a batch. Here, several commands run at once, and
//! each of them only writes files of its own.

pub mod destination;
mod entry;
pub mod find;
pub mod list;
pub mod place;
mod record;
mod recorder;
mod store;

pub use self::{
    destination::Destination,
    entry::{End, Entry},
    find::unreadable,
    record::Record,
    recorder::{Origin, Recorder},
    store::{Claim, Store},
};
