//! Finds fields that the contract does not list and the service refuses.

use super::super::request::Request;
use crate::Violation;

/// The first reference image. The next ones are `input_image_2`, `input_image_3` and so on.
const REFERENCE: &str = "input_image";

pub(super) fn violations(request: &Request, found: &mut Vec<Violation>) {
    let Request { operation, body, .. } = request;
    let given = body.iter().filter(|(_, value)| !value.is_null());
    for (name, _) in given.filter(|(name, _)| operation.field(name).is_none()) {
        let msg = match operation.max_reference_images {
            _ if operation.not_accepted.contains(&name.as_str()) => {
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
    // `parse` would accept a plus sign.
    rest.strip_prefix('_').filter(|digits| !digits.starts_with('+'))?.parse().ok()
}
