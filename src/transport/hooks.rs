//! What every submission of the generated client gets before it leaves: the key, the content type,
//! the model prefix.

use progenitor_client::{ClientHooks, ClientInfo, Error, OperationInfo};
use reqwest::{
    Request,
    header::{CONTENT_TYPE, HeaderValue},
};

use super::key::{ApiKey, KEY_HEADER};
use crate::generated::Client;

/// The neutral prefix of model names in the contract.
pub(crate) const NEUTRAL_PREFIX: &str = "gen";

#[derive(Debug, Clone)]
pub(crate) struct Hooks {
    pub(crate) key: ApiKey,
    pub(crate) prefix: String,
}

impl ClientHooks<Hooks> for Client {
    async fn pre<E>(&self, request: &mut Request, _: &OperationInfo) -> Result<(), Error<E>> {
        let Hooks { key, prefix } = self.inner();
        request.headers_mut().insert(KEY_HEADER, key.header());
        // The generated client declares opaque bytes, which is what makes it take a stream.
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let path = with_prefix(request.url().path(), prefix);
        request.url_mut().set_path(&path);
        Ok(())
    }
}

/// `/v1/gen-2-pro` is `/v1/xyz-2-pro` where the prefix is `xyz`; what does not start with the
/// neutral prefix stays.
fn with_prefix(path: &str, prefix: &str) -> String {
    // The last one: the base address may have a path of its own in front.
    let Some(at) = path.rfind("/v1/") else { return path.to_owned() };
    let (base, model) = path.split_at(at + "/v1/".len());
    match model.strip_prefix(NEUTRAL_PREFIX) {
        Some(rest) if rest.starts_with('-') => format!("{base}{prefix}{rest}"),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::with_prefix;

    #[test]
    fn replaces_the_head_of_the_model_only() {
        assert_eq!(with_prefix("/v1/gen-2-pro", "xyz"), "/v1/xyz-2-pro");
        assert_eq!(
            with_prefix("/proxy/v1/gen-tools/deblur-v1", "xyz"),
            "/proxy/v1/xyz-tools/deblur-v1"
        );
        assert_eq!(with_prefix("/gen-1/v1/finetune", "xyz"), "/gen-1/v1/finetune");
        assert_eq!(with_prefix("/v1/general", "xyz"), "/v1/general");
        assert_eq!(
            with_prefix("/v1/gen-2-klein-9b-kv-finetuned", "xyz"),
            "/v1/xyz-2-klein-9b-kv-finetuned"
        );
    }
}
