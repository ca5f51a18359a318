//! Fields that the contract does not list for an operation.

use serde_json::{Map, Value};

use crate::{
    contract::{Submission, Violation},
    media::images,
    values::names,
};

const REFERENCE: &str = "input_image";

/// The maximum number of ignored fields to remember, and of characters of their names.
const MAX_NAMES: usize = 16;
const MAX_NAME: usize = 64;

/// The fields without an effect, because the contract lists all fields of the operation.
#[derive(Default)]
pub(crate) struct Ignored {
    /// Their names, which are printable and sorted.
    pub(crate) names: Vec<String>,
    /// Their values for the log. Images are summarized.
    pub(crate) values: Map<String, Value>,
}

/// Returns the fields that the interface says the operation does not accept, and the reference
/// images above its limit.
pub(crate) fn refused(submission: &Submission, body: &Map<String, Value>) -> Vec<Violation> {
    let given = body.iter().filter(|(_, value)| !value.is_null());
    let refuse = |(name, _): (&String, &Value)| {
        let problem = match submission.rules.max_reference_images {
            _ if submission.rules.not_accepted.contains(name) => {
                "the operation does not accept this field".to_owned()
            }
            Some(most) if reference_number(name)? > most => {
                format!("the operation takes at most {most} reference images")
            }
            _ => return None,
        };
        let msg = format!("Extra inputs are not permitted: {problem}");
        Some(Violation::new(["body", name.as_str()], "extra_forbidden", msg))
    };
    given.filter_map(refuse).collect()
}

/// Returns all fields that the operation does not have, with the name that was probably meant. An
/// operation whose fields the contract leaves open may have any.
pub(crate) fn unknown(submission: &Submission, body: &Map<String, Value>) -> Vec<Violation> {
    if !submission.is_complete {
        return Vec::new();
    }
    let is_known = |name: &String| {
        submission.fields.get(name).is_some() || submission.rules.not_accepted.contains(name)
    };
    let mut unknown: Vec<_> = body.keys().filter(|name| !is_known(name)).collect();
    unknown.sort_unstable();
    unknown.truncate(MAX_NAMES);
    let refuse = |name: &String| {
        let name = printable(name);
        let mut msg = "Extra inputs are not permitted".to_owned();
        if let Some(meant) = names::similar(&name, submission.fields.iter().map(|(name, _)| name)) {
            msg = format!("{msg}: did you mean `{meant}`?");
        }
        Violation::new(["body", name.as_str()], "extra_forbidden", msg)
    };
    unknown.into_iter().map(refuse).collect()
}

/// Returns the number of a reference image: 1 for `input_image`, 2 for `input_image_2`.
fn reference_number(name: &str) -> Option<usize> {
    match name.strip_prefix(REFERENCE)? {
        "" => Some(1),
        number => {
            let digits = number.strip_prefix('_')?;
            // `parse` would accept a plus sign.
            let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| digits.parse().ok()).flatten()
        }
    }
}

/// Removes the fields without an effect.
pub(crate) fn take(submission: &Submission, body: &mut Map<String, Value>) -> Ignored {
    let mut ignored = Ignored::default();
    if !submission.is_complete {
        return ignored;
    }
    let (listed, unlisted): (Map<_, _>, Map<_, _>) = std::mem::take(body)
        .into_iter()
        .partition(|(name, _)| submission.fields.get(name).is_some());
    *body = listed;
    // Other crates of a program decide whether a map keeps its order.
    let mut names: Vec<_> = unlisted.keys().map(|name| printable(name)).collect();
    names.sort_unstable();
    names.truncate(MAX_NAMES);
    ignored.names = names;
    ignored.values = unlisted.into_iter().map(|(name, value)| (name, summarized(value))).collect();
    ignored
}

fn printable(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    name.chars().take(MAX_NAME).map(|c| if is_plain(c) { c } else { '?' }).collect()
}

fn summarized(value: Value) -> Value {
    if value.as_str().is_some_and(images::seems_image) {
        "[an image, not read]".into()
    } else {
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reference_images_are_numbered() {
        for (name, number) in [
            ("input_image", Some(1)),
            ("input_image_2", Some(2)),
            ("input_image_10", Some(10)),
            ("input_images", None),
            ("input_image_+5", None),
            ("image", None),
        ] {
            assert_eq!(reference_number(name), number, "{name}");
        }
    }

    #[test]
    fn names_are_printable_and_bounded() {
        assert_eq!(printable("asp\r\nect"), "asp??ect");
        assert_eq!(printable(&"é".repeat(100)), "?".repeat(MAX_NAME));
    }
}
