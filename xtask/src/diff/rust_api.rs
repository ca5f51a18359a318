//! The effect of a difference on the Rust API of the generated crate.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{
    difference::Direction,
    model::{Field, Shape},
};

/// What users of the crate notice, from least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// The API stays the same.
    None,
    /// Code that uses the crate still compiles.
    Additive,
    /// Code that uses the crate may not compile.
    Breaking,
}

impl Effect {
    pub fn breaking_if(breaking: bool) -> Self {
        if breaking { Self::Breaking } else { Self::None }
    }

    /// The effect in this direction. The crate has no types for headers of responses.
    pub fn seen(self, direction: Direction) -> Self {
        if direction == Direction::Header { Self::None } else { self }
    }
}

/// A required field of a request is an argument of `new`, any other field is a setter. Response
/// types are `non_exhaustive`.
pub fn field_added(direction: Direction, field: &Field) -> Effect {
    match direction {
        Direction::Request if field.required => Effect::Breaking,
        _ => Effect::Additive.seen(direction),
    }
}

/// A field becomes an argument of `new` or a setter; in a response it becomes an `Option` or not.
pub fn required_changed(direction: Direction, from: &Field, to: &Field) -> Effect {
    match direction {
        Direction::Request => Effect::Breaking,
        Direction::Response => Effect::breaking_if(is_option(from) != is_option(to)),
        Direction::Header => Effect::None,
    }
}

/// The types of request fields do not depend on null, which is set through `extra`.
pub fn null_changed(direction: Direction, from: &Field, to: &Field) -> Effect {
    match direction {
        Direction::Response => Effect::breaking_if(is_option(from) != is_option(to)),
        Direction::Request | Direction::Header => Effect::None,
    }
}

/// Whether the field of a response is an `Option`.
fn is_option(field: &Field) -> bool {
    !field.required || field.shape.nullable == Some(true)
}

/// Enumerations are `non_exhaustive`, so a new value is a new variant. Adding or dropping the whole
/// list changes the type. Responses have text instead.
pub fn choices_changed(
    direction: Direction,
    from: Option<&BTreeSet<String>>,
    to: Option<&BTreeSet<String>>,
) -> Effect {
    match (from, to) {
        _ if direction != Direction::Request => Effect::None,
        (Some(from), Some(to)) if to.is_superset(from) => Effect::Additive,
        _ => Effect::Breaking,
    }
}

/// The formats of strings in requests, and of numbers in responses, select a type. Other limits are
/// checked at run time.
pub fn limit_changed(direction: Direction, keyword: &str, from: &Shape) -> Effect {
    let selects = direction == Direction::Request || from.types.allow("integer");
    Effect::breaking_if(keyword == "format" && selects).seen(direction)
}

/// `#[deprecated]` is a warning.
pub fn deprecation_changed(deprecated: bool) -> Effect {
    if deprecated { Effect::Additive } else { Effect::None }
}
