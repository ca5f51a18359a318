//! What holds for every input of the readers of imagekiln.
//!
//! Each [`Target`] is a property of one reader. The fuzz targets look for inputs that violate it,
//! and the test of this package checks it for the inputs that are kept in `tools/fuzz/corpus.tar`.

mod contract;
mod delivery;
mod exchange;
mod files;
mod images;
mod jobs;
mod outputs;
mod pictures;
mod requests;
mod responses;
mod retry_after;
mod service;
mod simulator;
mod snapshot;
mod text;
/// The check that a picture is whole, from the source files of the SDK, which name this module.
#[path = "."]
mod values {
    #[path = "../../../../src/values/file_kind.rs"]
    #[expect(dead_code, reason = "the check only detects formats")]
    pub mod file_kind;
    #[path = "../../../../src/values/whole/mod.rs"]
    pub mod whole;
}
mod webhook;

use self::values::file_kind::FileKind;

pub use self::{
    contract::contract,
    delivery::{delivery, hosts},
    files::{config_file, history, journal, recording},
    images::base64_text,
    jobs::job_file,
    outputs::{output, template},
    pictures::{decoded_picture, picture, video},
    requests::stored_request,
    responses::{poll_response, submission_response},
    retry_after::retry_after,
    simulator::{fault, range, request_pattern},
    snapshot::snapshot,
    text::{aspect_ratio, printed_text},
    webhook::webhook,
};

/// A property of a reader.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of the fuzz target, and of the folder with its inputs.
    pub name: &'static str,
    /// Panics if the input violates the property.
    pub check: fn(&[u8]),
}

/// All properties, in the order of their names.
pub const TARGETS: [Target; 25] = [
    Target { name: "aspect_ratio", check: aspect_ratio },
    Target { name: "base64_text", check: base64_text },
    Target { name: "config_file", check: config_file },
    Target { name: "contract", check: contract },
    Target { name: "decoded_picture", check: decoded_picture },
    Target { name: "delivery", check: delivery },
    Target { name: "fault", check: fault },
    Target { name: "history", check: history },
    Target { name: "hosts", check: hosts },
    Target { name: "job_file", check: job_file },
    Target { name: "journal", check: journal },
    Target { name: "output", check: output },
    Target { name: "picture", check: picture },
    Target { name: "poll_response", check: poll_response },
    Target { name: "printed_text", check: printed_text },
    Target { name: "range", check: range },
    Target { name: "recording", check: recording },
    Target { name: "request_pattern", check: request_pattern },
    Target { name: "retry_after", check: retry_after },
    Target { name: "snapshot", check: snapshot },
    Target { name: "stored_request", check: stored_request },
    Target { name: "submission_response", check: submission_response },
    Target { name: "template", check: template },
    Target { name: "video", check: video },
    Target { name: "webhook", check: webhook },
];
