//! The JSON file next to a picture that describes how it was made.

mod request;
#[cfg(test)]
mod tests;

use std::path::Path;

use imagekiln::Request;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// How a picture was made: the content of the JSON file next to it. A batch writes such a file next
/// to each picture, for example `fox.jpg.json` next to `fox.jpg`, and so does `kiln generate
/// --describe`.
///
/// The file contains no images, no secrets, and no queries of URLs, which may be signed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// [`VERSION`](Self::VERSION) of the program that wrote the file.
    #[serde(default)]
    pub version: u32,
    /// The name of the job, if a batch made the picture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// The name of the model, such as `gen-2-pro`.
    pub model: String,
    /// The id of the task.
    pub task_id: String,
    /// The seed of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<i64>,
    /// The cost, if the service reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credits: Option<f64>,
    /// The times of the job.
    #[serde(default)]
    pub times: DescribedTimes,
    /// The file of the picture.
    pub picture: DescribedPicture,
    /// The request in the form that [`describe_request`] returns.
    pub request: Value,
}

/// Times in RFC 3339, as far as they are known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DescribedTimes {
    /// When the job was added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added: Option<String>,
    /// When the request was submitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submitted: Option<String>,
    /// When the picture was found ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
}

/// The file of a picture.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DescribedPicture {
    /// The media type, such as `image/png`, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// The size in bytes.
    #[serde(default)]
    pub bytes: u64,
    /// The SHA-256 digest in lowercase hexadecimal.
    pub sha256: String,
}

impl Description {
    /// The version of the format. It increases when the meaning of a member changes, but not when a
    /// member is added.
    pub const VERSION: u32 = 1;

    /// Parses the content of a file. Returns `None` if it is not a description.
    pub fn parse(content: &[u8]) -> Option<Self> {
        serde_json::from_slice(content).ok()
    }

    /// Returns the content of the file.
    pub fn to_json(&self) -> Vec<u8> {
        // All members are numbers, texts and JSON, so this does not fail.
        let mut json = serde_json::to_vec_pretty(self).unwrap_or_default();
        json.push(b'\n');
        json
    }

    /// Whether the picture was made from this request.
    pub fn is_of(&self, request: &Request) -> bool {
        describe_request(request, named).is_ok_and(|request| request == self.request)
    }
}

/// Returns a request in the form of [`Request::to_json`], without content that does not belong in a
/// file beside a picture: images in memory are replaced by their sizes and digests, URLs lose their
/// queries, and secrets are left out. `file` returns the description of an image file, with at
/// least its `path`.
///
/// # Errors
///
/// The same errors as [`Request::to_json`].
pub fn describe_request(
    request: &Request,
    file: impl Fn(&Path) -> Value,
) -> Result<Value, imagekiln::Error> {
    // `to_json` has just returned it, so it is valid JSON.
    let stored = serde_json::from_str(&request.to_json()?).unwrap_or_default();
    Ok(request::cleaned(stored, request.operation(), &file))
}

/// Describes an image file by its path only, for [`describe_request`].
pub fn named(path: &Path) -> Value {
    json!({ "path": path })
}
