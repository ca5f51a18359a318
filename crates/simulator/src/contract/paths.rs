//! Paths: the model name prefix, and templates such as `/v1/{base_model}-finetuned`.

use super::Schema;

/// The prefix of model names in the contract.
const NEUTRAL: &str = "gen";

/// Replaces this service's `prefix` of model names by `gen`, as in the contract. Returns `None` for
/// a model name with the wrong prefix.
pub(crate) fn neutral_path(path: &str, prefix: &str) -> Option<String> {
    let Some(model) = path.strip_prefix("/v1/").filter(|_| prefix != NEUTRAL) else {
        return Some(path.to_owned());
    };
    if let Some(rest) = model.strip_prefix(prefix).filter(|rest| rest.starts_with('-')) {
        return Some(format!("/v1/{NEUTRAL}{rest}"));
    }
    let foreign = model.strip_prefix(NEUTRAL).is_some_and(|rest| rest.starts_with('-'));
    (!foreign).then(|| path.to_owned())
}

/// The reverse: replaces `gen` in a path or template of the contract by `prefix`.
pub(crate) fn prefixed_path(path: &str, prefix: &str) -> String {
    let model = path.strip_prefix("/v1/").and_then(|model| model.strip_prefix(NEUTRAL));
    match model.filter(|rest| rest.starts_with('-')) {
        Some(rest) => format!("/v1/{prefix}{rest}"),
        None => path.to_owned(),
    }
}

/// A path of the document, with at most one parameter.
pub(super) struct Template {
    pub(super) path: String,
    pub(super) parameter: Option<Parameter>,
}

pub(super) struct Parameter {
    before: String,
    after: String,
    schema: Schema,
}

impl Template {
    /// `schema` returns the schema of a parameter.
    pub(super) fn parse(
        path: &str,
        schema: impl Fn(&str) -> Result<Schema, String>,
    ) -> Result<Self, String> {
        let mut parameter = None;
        if let Some((before, rest)) = path.split_once('{') {
            let (name, after) = rest.split_once('}').ok_or("a brace is not closed")?;
            if after.contains('{') {
                return Err("the path has two parameters".to_owned());
            }
            let (before, after) = (before.to_owned(), after.to_owned());
            parameter = Some(Parameter { before, after, schema: schema(name)? });
        }
        Ok(Self { path: path.to_owned(), parameter })
    }

    /// Whether a path that starts with `beginning` can match.
    pub(super) fn can_start_with(&self, beginning: &str) -> bool {
        let completed =
            |Parameter { after, .. }: &Parameter| self.matches(&format!("{beginning}x{after}"));
        self.path.starts_with(beginning) || self.parameter.as_ref().is_some_and(completed)
    }

    pub(super) fn matches(&self, path: &str) -> bool {
        let Some(Parameter { before, after, schema }) = &self.parameter else {
            return self.path == path;
        };
        let value = path.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
        value.is_some_and(|value| {
            !value.is_empty() && !value.contains('/') && schema.is_valid(&value.into())
        })
    }
}
