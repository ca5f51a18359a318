//! Finds problems that prevent sending the request as the caller intended, regardless of the
//! contract.

use serde_json::Value;

use super::super::request::Request;
use crate::Violation;

/// serde_json reads 127 levels, one of which is the body itself.
const MAX_LEVELS: usize = 126;

pub(super) fn violations(request: &Request) -> Vec<Violation> {
    let mut found = request.faults();
    for (name, value) in &request.body {
        if has_more_levels(value, MAX_LEVELS) {
            let msg = format!("is nested too deeply; must have at most {MAX_LEVELS} levels");
            found.push(Violation::of_field(name, "recursion_loop", msg));
        }
    }
    path_parameters(request, &mut found);
    found
}

fn has_more_levels(value: &Value, levels: usize) -> bool {
    let item = |item| levels == 0 || has_more_levels(item, levels - 1);
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(item),
        Value::Object(members) => levels == 0 || members.values().any(item),
        _ => false,
    }
}

fn path_parameters(request: &Request, found: &mut Vec<Violation>) {
    let known = request.operation.path_parameters;
    for parameter in known {
        let mut values = request.path_parameters.iter().filter(|(name, _)| name == parameter.name);
        let (kind, msg) = match (values.next(), values.next()) {
            (None, _) => ("missing", "is required"),
            (_, Some(_)) => ("set_twice", "is set twice; set it once"),
            (Some((_, value)), None) if value.is_empty() => ("missing", "is required"),
            (Some((_, value)), None) if !is_segment(value) => (
                "value_error",
                "must consist of letters, digits, `-`, `.` and `_`, without consecutive dots",
            ),
            _ => continue,
        };
        found.push(Violation::of_parameter(parameter.name, kind, msg));
    }
    for (name, _) in &request.path_parameters {
        if !known.iter().any(|parameter| parameter.name == name) {
            found.push(Violation::of_parameter(
                name,
                "extra_forbidden",
                "is not a parameter of this operation's path",
            ));
        }
    }
}

/// A slash, a percent sign or a value of dots would change the endpoint.
fn is_segment(value: &str) -> bool {
    let is_plain = value.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
    is_plain && value != "." && !value.contains("..")
}
