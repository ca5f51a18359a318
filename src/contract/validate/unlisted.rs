//! Finds fields that the contract does not list and the service refuses.

use serde_json::Value;

use super::super::{field_value::FieldValue, operation::Operation};
use crate::Violation;

/// The first reference image. The next ones are `input_image_2`, `input_image_3` and so on.
const REFERENCE: &str = "input_image";

pub(super) fn violations(
    operation: &Operation,
    values: &[(&str, &FieldValue)],
    found: &mut Vec<Violation>,
) {
    let given = values.iter().filter(|(_, value)| !matches!(value, FieldValue::Json(Value::Null)));
    for (name, _) in given.filter(|(name, _)| operation.field(name).is_none()) {
        let msg = match operation.max_reference_images {
            _ if operation.not_accepted.contains(name) => {
                format!("is not accepted by {operation}; remove it")
            }
            Some(most) if reference_number(name).is_some_and(|number| number > most) => {
                format!("is one of more than {most} reference images; {operation} takes {most}")
            }
            _ => continue,
        };
        found.push(Violation::of_field(name, "extra_forbidden", msg));
    }
}

/// Returns 1 for `input_image`, 2 for `input_image_2`.
fn reference_number(name: &str) -> Option<u64> {
    let rest = name.strip_prefix(REFERENCE)?;
    if rest.is_empty() {
        return Some(1);
    }
    let digits = rest.strip_prefix('_')?;
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}
