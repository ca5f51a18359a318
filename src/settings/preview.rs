//! What a client would send, without sending it.

use serde_json::{Map, Value};

use super::ClientBuilder;
use crate::{Error, Submit, transport::service::path_of};

/// A submission that is not sent; see [`ClientBuilder::preview`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Preview {
    /// The path of the request below the base URL, for example `/v1/gen-2-pro`.
    pub path: String,
    /// The body as [`Request::outline`](crate::Request::outline) returns it: with descriptions of
    /// the images, and without secrets.
    pub body: Map<String, Value>,
}

impl ClientBuilder {
    /// Returns what a client with these settings would send for a request. Sends nothing, and needs
    /// neither the API key nor the base URL.
    ///
    /// This method may block, because it reads image files. See
    /// [`Request::reads_files`](crate::Request::reads_files).
    ///
    /// ```
    /// use imagekiln::{Client, types::Gen2Pro};
    /// # fn main() -> Result<(), imagekiln::Error> {
    /// let builder = Client::builder().model_prefix("xyz").webhook_url("https://example.com/hook");
    /// let preview = builder.preview(Gen2Pro::new("a red fox"))?;
    /// assert_eq!(preview.path, "/v1/xyz-2-pro");
    /// assert_eq!(preview.body["webhook_url"], "https://example.com/hook");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Kind [`Validation`](crate::ErrorKind::Validation): the request does not match the contract.
    /// Kind [`Settings`](crate::ErrorKind::Settings): the model prefix or the webhook URL is
    /// invalid.
    pub fn preview(&self, request: impl Submit) -> Result<Preview, Error> {
        let prefix = self.prefix()?;
        self.check_webhook()?;
        let mut request = request.into_request();
        self.tasks.webhook.fill(&mut request);
        if self.tasks.validation {
            request.validate()?
        } else {
            request.validate_form()?
        }
        Ok(Preview { path: path_of("", &request, &prefix), body: request.outline() })
    }
}
