//! Adds the path and the headers to submissions of the generated client.

use std::{fmt, sync::Arc};

use progenitor_client::{ClientHooks, ClientInfo, Error, OperationInfo};
use reqwest::{
    Request, Response,
    header::{CONTENT_TYPE, HeaderValue},
};
use tracing::Instrument;

use super::{middleware::Purpose, observation::Subject, service::Service};
use crate::generated::Client;

/// The prefix of model names in the contract, which the configured prefix replaces.
pub(crate) const NEUTRAL_PREFIX: &str = "gen";

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
    async fn pre<E>(&self, request: &mut Request, _: &OperationInfo) -> Result<(), Error<E>> {
        request.url_mut().set_path(&self.inner().path);
        Ok(())
    }

    async fn exec(&self, mut request: Request, _: &OperationInfo) -> reqwest::Result<Response> {
        let Hooks { service, operation, resends, .. } = self.inner();
        let url = request.url().clone();
        let subject = Subject { operation: Some(operation), task_id: None, resends: *resends };
        let headers = request.headers_mut();
        let observation = service.begin(Purpose::Submission, &url, subject, headers);
        // The generated client sets the content type of opaque bytes, because the body is a stream.
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let response = self.client().execute(request).instrument(observation.span()).await;
        observation.finish(&response);
        response
    }
}

/// Returns the path of a submission, as sent. `base` is the path of the base URL.
pub(crate) fn path_of(base: &str, request: &crate::Request, prefix: &str) -> String {
    let operation = request.operation();
    let path =
        operation.path_parameters.iter().fold(operation.path.to_owned(), |path, parameter| {
            path.replace(&format!("{{{}}}", parameter.name), request.path_value(parameter.name))
        });
    let path = format!("{}{path}", base.trim_end_matches('/'));
    with_prefix(&path, prefix).unwrap_or(path)
}

/// Replaces the neutral prefix of the model name: `/v1/gen-2-pro` with the prefix `xyz` becomes
/// `/v1/xyz-2-pro`. Returns `None` if the path stays the same.
fn with_prefix(path: &str, prefix: &str) -> Option<String> {
    if prefix == NEUTRAL_PREFIX {
        return None;
    }
    // Search from the end: the base URL may have its own path.
    let (base, model) = path.split_at(path.rfind("/v1/")? + "/v1/".len());
    let rest = model.strip_prefix(NEUTRAL_PREFIX).filter(|rest| rest.starts_with('-'))?;
    Some(format!("{base}{prefix}{rest}"))
}

#[cfg(test)]
mod tests {
    use super::with_prefix;

    #[test]
    fn only_the_model_name_prefix_is_replaced() {
        for (path, expected) in [
            ("/v1/gen-2-pro", Some("/v1/xyz-2-pro")),
            ("/proxy/v1/gen-tools/deblur-v1", Some("/proxy/v1/xyz-tools/deblur-v1")),
            ("/gen-1/v1/finetune", None),
            ("/v1/general", None),
            ("/v1/gen-2-klein-9b-kv-finetuned", Some("/v1/xyz-2-klein-9b-kv-finetuned")),
        ] {
            assert_eq!(with_prefix(path, "xyz").as_deref(), expected, "{path}");
            assert_eq!(with_prefix(path, "gen"), None, "{path}");
        }
    }
}
