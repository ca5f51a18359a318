//! Paths: the model name prefix, and templates such as `/v1/{base_model}-finetuned`.

use std::fmt;

use super::{Operation, Schema};

/// The prefix of model names in the contract.
const NEUTRAL: &str = "gen";

/// The result of looking up a method and a path.
pub(crate) enum Found<'a> {
    Operation(&'a Operation),
    /// The path exists, but only with these methods.
    OtherMethods(String),
    Nothing,
}

/// Replaces this service's `prefix` of model names by `gen`, as in the contract. Returns `None` for
/// a model name with the wrong prefix.
pub(crate) fn neutral_path(path: &str, prefix: &str) -> Option<String> {
    if prefix == NEUTRAL {
        return Some(path.to_owned());
    }
    let Some(model) = path.strip_prefix("/v1/") else {
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

/// A path of the document, with at most one parameter per segment.
pub(super) struct Template {
    segments: Vec<Segment>,
}

enum Segment {
    Written(String),
    Parameter { name: String, before: String, after: String, schema: Schema },
}

impl Template {
    /// `schema` returns the schema of a parameter.
    pub(super) fn parse(
        path: &str,
        schema: impl Fn(&str) -> Result<Schema, String>,
    ) -> Result<Self, String> {
        let path = path.strip_prefix('/').ok_or("the path does not start with a slash")?;
        let segments = path.split('/').map(|segment| Segment::parse(segment, &schema));
        Ok(Self { segments: segments.collect::<Result<_, _>>()? })
    }

    pub(super) fn parameters(&self) -> usize {
        self.segments.iter().filter(|segment| matches!(segment, Segment::Parameter { .. })).count()
    }

    /// Whether a path that starts with `beginning` can match.
    pub(super) fn can_start_with(&self, beginning: &str) -> bool {
        let completed = |segment: &Segment| match segment {
            Segment::Written(_) => false,
            Segment::Parameter { after, .. } => self.matches(&format!("{beginning}x{after}")),
        };
        self.to_string().starts_with(beginning) || self.segments.iter().any(completed)
    }

    pub(super) fn matches(&self, path: &str) -> bool {
        let Some(path) = path.strip_prefix('/') else {
            return false;
        };
        let mut given = path.split('/');
        self.segments.iter().all(|segment| given.next().is_some_and(|text| segment.matches(text)))
            && given.next().is_none()
    }
}

impl Segment {
    fn parse(text: &str, schema: impl Fn(&str) -> Result<Schema, String>) -> Result<Self, String> {
        let Some((before, rest)) = text.split_once('{') else {
            return Ok(Self::Written(text.to_owned()));
        };
        let (name, after) = rest.split_once('}').ok_or("a brace is not closed")?;
        if after.contains('{') {
            return Err("a segment has two parameters".to_owned());
        }
        Ok(Self::Parameter {
            schema: schema(name)?,
            name: name.to_owned(),
            before: before.to_owned(),
            after: after.to_owned(),
        })
    }

    fn matches(&self, text: &str) -> bool {
        match self {
            Self::Written(written) => written == text,
            Self::Parameter { before, after, schema, .. } => text
                .strip_prefix(before.as_str())
                .and_then(|rest| rest.strip_suffix(after.as_str()))
                .is_some_and(|value| !value.is_empty() && schema.is_valid(&value.into())),
        }
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.segments.iter().try_for_each(|segment| match segment {
            Segment::Written(text) => write!(f, "/{text}"),
            Segment::Parameter { name, before, after, .. } => {
                write!(f, "/{before}{{{name}}}{after}")
            }
        })
    }
}
