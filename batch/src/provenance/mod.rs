//! The JSON file next to a picture that describes how it was made.

mod request;
#[cfg(test)]
mod tests;

use imagekiln::{FileKind, Request};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Error, ErrorKind, JobStatus, output::SavedPicture, stored_request::StoredRequest, time::rfc3339,
};

/// Increases when the meaning of a member changes. New members do not change it.
const VERSION: u32 = 1;

/// A saved picture, with the job and the request that describe it.
pub(crate) struct Provenance<'a> {
    pub(crate) job: &'a JobStatus,
    pub(crate) request: &'a Request,
    pub(crate) picture: &'a SavedPicture,
}

/// The members in the order of the file.
#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    job: &'a str,
    model: &'static str,
    task_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    credits: Option<f64>,
    times: TimesDocument,
    picture: PictureDocument<'a>,
    request: Value,
}

#[derive(Serialize)]
struct TimesDocument {
    #[serde(skip_serializing_if = "Option::is_none")]
    added: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    submitted: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ready: Option<String>,
}

#[derive(Serialize)]
struct PictureDocument<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    media_type: Option<&'static str>,
    bytes: u64,
    sha256: &'a str,
}

/// The content of the file next to a picture.
#[derive(Deserialize)]
pub(crate) struct Description {
    pub(crate) job: String,
    model: String,
    pub(crate) task_id: String,
    pub(crate) credits: Option<f64>,
    pub(crate) picture: DescribedPicture,
    request: Value,
}

#[derive(Deserialize)]
pub(crate) struct DescribedPicture {
    pub(crate) sha256: String,
}

impl Description {
    /// Returns `None` if the content is not that of a description.
    pub(crate) fn parse(content: &[u8]) -> Option<Self> {
        serde_json::from_slice(content).ok()
    }

    /// Whether the picture was made from this request.
    pub(crate) fn is_of(&self, request: &Request) -> bool {
        let operation = request.operation();
        let cleaned =
            StoredRequest::new(request).map(|stored| request::cleaned(stored.0, operation));
        self.model == operation.name && cleaned.is_ok_and(|cleaned| cleaned == self.request)
    }
}

impl Provenance<'_> {
    /// Returns the content of the file. It contains no images, no secrets, and no queries of URLs.
    pub(crate) fn to_json(&self) -> Result<Vec<u8>, Error> {
        let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
            let message = format!("could not describe the picture of job `{}`", self.job.name);
            Error::new(ErrorKind::Job, message).with_source(error)
        };
        let stored = StoredRequest::new(self.request).map_err(|error| failed(error.into()))?;
        let document = Document {
            version: VERSION,
            job: &self.job.name,
            model: self.request.operation().name,
            task_id: self.job.task_id.as_deref().unwrap_or_default(),
            seed: stored.seed(),
            credits: self.job.credits,
            times: TimesDocument {
                added: rfc3339(self.job.added_at),
                submitted: self.job.submitted_at.and_then(rfc3339),
                ready: self.job.ready_at.and_then(rfc3339),
            },
            picture: PictureDocument {
                media_type: self.picture.kind.map(FileKind::media_type),
                bytes: self.picture.bytes,
                sha256: &self.picture.sha256,
            },
            request: request::cleaned(stored.0, self.request.operation()),
        };
        let mut json =
            serde_json::to_vec_pretty(&document).map_err(|error| failed(error.into()))?;
        json.push(b'\n');
        Ok(json)
    }
}
