//! Adds the path and the headers to submissions of the generated client.

use std::{fmt, sync::Arc};

use progenitor_client::{ClientHooks, ClientInfo, OperationInfo};
use reqwest::{
    Request, Response,
    header::{CONTENT_TYPE, HeaderValue},
};

use super::{
    middleware::{Purpose, Subject},
    service::Service,
};
use crate::generated::Client;

/// The context of one submission.
#[derive(Clone)]
pub(crate) struct Hooks {
    pub(crate) service: Arc<Service>,
    pub(crate) operation: &'static str,
    /// The path of the submission, which the generated client does not know.
    pub(crate) path: String,
    /// The number of attempts before this one.
    pub(crate) resends: u32,
}

// The generated client derives `Debug`, which requires it here.
impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks").field("operation", &self.operation).finish_non_exhaustive()
    }
}

impl ClientHooks<Hooks> for Client {
    async fn exec(&self, mut request: Request, _: &OperationInfo) -> reqwest::Result<Response> {
        let Hooks { service, operation, path, resends } = self.inner();
        request.url_mut().set_path(path);
        let url = request.url().clone();
        let subject = Subject { operation: Some(operation), task_id: None, resends: *resends };
        let headers = request.headers_mut();
        let observation = service.begin(Purpose::Submission, &url, subject, headers);
        // The generated client sets the content type of opaque bytes, because the body is a stream.
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        observation.send(self.client().execute(request)).await
    }
}
