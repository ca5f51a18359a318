//! Reads the keywords of a schema that limit values of one type.

use std::collections::BTreeMap;

use serde_json::Value;

use super::model::{Limit, Shape, Types};
use crate::contract::Place;

/// The limits of a schema by its own keywords.
pub fn limits(node: &Place) -> anyhow::Result<BTreeMap<&'static str, Limit>> {
    let mut limits = BTreeMap::new();
    let number = |keyword: &str| node.get(keyword).map(|limit| limit.number()).transpose();

    let (inclusive, exclusive) = numeric_bound(node, "minimum", "exclusiveMinimum")?;
    let lower = inclusive.map(|value| Limit::Lower { value, exclusive: false });
    let open = exclusive.map(|value| Limit::Lower { value, exclusive: true });
    limits.extend(narrower_of(lower, open).map(|limit| ("minimum", limit)));

    let (inclusive, exclusive) = numeric_bound(node, "maximum", "exclusiveMaximum")?;
    let upper = inclusive.map(|value| Limit::Upper { value, exclusive: false });
    let open = exclusive.map(|value| Limit::Upper { value, exclusive: true });
    limits.extend(narrower_of(upper, open).map(|limit| ("maximum", limit)));

    for keyword in ["minLength", "minItems"] {
        // A minimum length of 0 has no effect.
        let length = number(keyword)?.filter(|value| *value > 0.0);
        limits.extend(length.map(|value| (keyword, Limit::Lower { value, exclusive: false })));
    }
    for keyword in ["maxLength", "maxItems"] {
        limits.extend(
            number(keyword)?.map(|value| (keyword, Limit::Upper { value, exclusive: false })),
        );
    }
    limits.extend(number("multipleOf")?.map(|value| ("multipleOf", Limit::Multiple(value))));
    let pattern = node.get("pattern").map(|text| text.string()).transpose()?;
    let exact = [("pattern", pattern), ("format", format(node)?)];
    let stated = exact.into_iter().filter_map(|(keyword, text)| Some((keyword, text?)));
    limits.extend(stated.map(|(keyword, text)| (keyword, Limit::Exact(text.to_owned()))));
    Ok(limits)
}

/// The format. In OpenAPI 3.1, bytes have a `contentEncoding` or a `contentMediaType` instead.
fn format<'a>(node: &Place<'a>) -> anyhow::Result<Option<&'a str>> {
    let text = |keyword: &str| node.get(keyword).map(|text| text.string()).transpose();
    Ok(match (text("format")?, text("contentEncoding")?, text("contentMediaType")?) {
        (Some(format), ..) => Some(format),
        (None, Some("base64"), _) => Some("byte"),
        (None, None, Some("application/octet-stream")) => Some("binary"),
        _ => None,
    })
}

/// The inclusive and the exclusive bound. In OpenAPI 3.0 the second is a flag of the first, in 3.1
/// it is a separate number.
fn numeric_bound(
    node: &Place,
    inclusive: &str,
    exclusive: &str,
) -> anyhow::Result<(Option<f64>, Option<f64>)> {
    let bound = node.get(inclusive).map(|bound| bound.number()).transpose()?;
    match node.get(exclusive) {
        Some(flag) if flag.value == &Value::Bool(true) => Ok((None, bound)),
        Some(flag) if flag.value == &Value::Bool(false) => Ok((bound, None)),
        Some(own) => Ok((bound, Some(own.number()?))),
        None => Ok((bound, None)),
    }
}

fn narrower_of(a: Option<Limit>, b: Option<Limit>) -> Option<Limit> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if a.includes(&b) { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// Makes the bounds of an integer inclusive: above 0 is at least 1.
pub fn count_whole_numbers(shape: &mut Shape) {
    if shape.types != Types::only(["integer"]) {
        return;
    }
    for limit in shape.limits.values_mut() {
        match limit {
            Limit::Lower { value, exclusive } if *exclusive => {
                (*value, *exclusive) = (value.floor() + 1.0, false)
            }
            Limit::Upper { value, exclusive } if *exclusive => {
                (*value, *exclusive) = (value.ceil() - 1.0, false)
            }
            _ => {}
        }
    }
}
