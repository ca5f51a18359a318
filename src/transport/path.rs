//! The path of a submission.

use crate::Request;

/// The prefix of model names in the contract, which the configured prefix replaces.
pub(crate) const NEUTRAL_PREFIX: &str = "gen";

/// Returns the path of a submission, as sent. `base` is the path of the base URL.
pub(crate) fn path_of(base: &str, request: &Request, prefix: &str) -> String {
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
