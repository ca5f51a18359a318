//! Entry points of the fuzz targets: readers of what strangers send, without the network.
//!
//! Not part of the interface. Programs can't rely on anything here.

use std::ops::Range;

use axum::http::{HeaderMap, HeaderValue, header};
use imagekiln_painter::{images, video};

use crate::{
    http::response::Part,
    journal::{Journal, RequestPattern},
    request::validation::check_limits,
};

pub use crate::faults::fuzzing::{ReadFault, Source, read as read_fault, words};
pub use crate::journal::RequestRecord;

/// The part of a file of `length` bytes that a `Range` header asks for. An error is a part outside
/// of the file.
pub fn range(header: &[u8], length: usize) -> Option<Result<Range<usize>, ()>> {
    let value = HeaderValue::from_bytes(header).ok()?;
    match Part::requested(&HeaderMap::from_iter([(header::RANGE, value)]), length) {
        Part::Whole => None,
        Part::Of(range) => Some(Ok(range)),
        Part::Outside => Some(Err(())),
    }
}

/// Decodes an image of at most `max_pixels` pixels. Returns its width and height.
pub fn image(bytes: &[u8], max_pixels: u64) -> Result<(u32, u32), String> {
    images::decode(bytes, max_pixels).map(|image| (image.width, image.height))
}

/// Reads a video with frames of at most `max_pixels` pixels. Returns the times of its frames and
/// its duration.
pub fn video(bytes: &[u8], max_pixels: u64) -> Result<(Vec<f32>, f32), String> {
    let clip = video::clip(bytes, max_pixels)?;
    Ok((clip.frames.iter().map(|(at, _)| *at).collect(), clip.duration))
}

/// Whether a document exceeds the limits of bodies.
pub fn is_excessive(body: &[u8]) -> bool {
    check_limits(body).is_err()
}

/// Requests to search.
pub struct Requests(Journal);

impl Requests {
    /// Keeps the requests in their order.
    pub fn new(records: Vec<RequestRecord>) -> Self {
        let journal = Journal::new(records.len());
        records.into_iter().for_each(|record| drop(journal.entry(record)));
        Self(journal)
    }

    /// Returns the requests that match a pattern, newest first.
    pub fn find(&self, pattern: &[u8]) -> Result<Vec<RequestRecord>, String> {
        let pattern: RequestPattern =
            serde_json::from_slice(pattern).map_err(|error| error.to_string())?;
        Ok(self.0.find(&pattern).requests)
    }
}
