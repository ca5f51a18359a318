//! Checks the document outside of its schemas: that each kind of object has the keywords that the
//! generator knows, and only those, and that the parts agree.
//!
//! A keyword that nothing reads would mislead: it looks as if it had an effect.

mod agreement;
mod kinds;

use serde_json::Value;

use super::{DocumentNode, Faults, METHODS, all};

use self::kinds::{CORRECTIONS, DOCUMENT, TEXTS};

/// A kind of object and its keywords.
pub struct Kind {
    pub name: &'static str,
    pub keywords: &'static [Keyword],
}

pub struct Keyword {
    pub name: &'static str,
    pub is_required: bool,
    pub value: Content,
}

/// The value of a keyword.
pub enum Content {
    /// Text that is not empty.
    Text,
    /// `true`. Instead of `false`, the keyword is removed.
    True,
    Count,
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// Anything, which is read elsewhere: an example or a schema.
    Any,
    Object(&'static Kind),
    /// A reference to a component of this group, or the object itself.
    Component(&'static str, &'static Kind),
    /// A list with at least one element.
    List(&'static Content),
    /// An empty list.
    NoElements,
    /// Values by name, with at least one.
    Named(&'static Content),
    /// Operations by method.
    PathItem(&'static Kind),
}

/// Checks all of the document except its schemas.
pub fn check(root: &DocumentNode) -> Result<(), Faults> {
    all([check_object(root, &DOCUMENT), agreement::check(root), check_notes(root)]).map(drop)
}

fn check_object(place: &DocumentNode, kind: &Kind) -> Result<(), Faults> {
    let names = kind.keywords.iter().map(|keyword| keyword.name);
    let mut results = vec![place.must_have_only(kind.name, names)];
    for keyword in kind.keywords {
        results.push(match place.get(keyword.name) {
            Some(value) => check_content(&value, &keyword.value),
            None if keyword.is_required => place.need(keyword.name).map(drop),
            None => Ok(()),
        });
    }
    all(results).map(drop)
}

/// Checks the gaps and corrections of everything.
fn check_notes(place: &DocumentNode) -> Result<(), Faults> {
    let each = |(keyword, value): &(&str, DocumentNode)| match *keyword {
        "x-not-shown" => check_content(value, &TEXTS),
        "x-correction" => check_content(value, &CORRECTIONS),
        _ => check_notes(value),
    };
    match place.value {
        Value::Object(_) => all(place.members()?.iter().map(each)).map(drop),
        Value::Array(_) => all(place.elements()?.iter().map(check_notes)).map(drop),
        _ => Ok(()),
    }
}

fn check_content(place: &DocumentNode, content: &Content) -> Result<(), Faults> {
    match content {
        Content::Any => Ok(()),
        Content::Text => place.text().map(|_| ()),
        Content::True => place.must_be_true(),
        Content::Count => place.count().map(|_| ()),
        Content::OneOf(texts) => {
            let expected = format!("expected `{}`", texts.join("` or `"));
            ensure(texts.contains(&place.string()?), place, &expected)
        }
        Content::Object(kind) => check_object(place, kind),
        // The component itself is checked among the components.
        Content::Component(group, _) if place.get("$ref").is_some() => {
            place.component(group).map(drop)
        }
        Content::Component(_, kind) => check_object(place, kind),
        Content::List(element) => {
            let elements = place.distinct_elements()?;
            ensure(!elements.is_empty(), place, "this list is empty")?;
            all(elements.iter().map(|value| check_content(value, element))).map(drop)
        }
        Content::NoElements => {
            ensure(place.elements()?.is_empty(), place, "expected an empty list")
        }
        Content::Named(member) => {
            let members = place.members()?;
            ensure(!members.is_empty(), place, "this object is empty")?;
            all(members.iter().map(|(_, value)| check_content(value, member))).map(drop)
        }
        Content::PathItem(operation) => {
            let methods = place.members()?;
            place.must_have_only("a path item", METHODS)?;
            ensure(!methods.is_empty(), place, "this path has no operation")?;
            all(methods.iter().map(|(_, value)| check_object(value, operation))).map(drop)
        }
    }
}

fn ensure(holds: bool, place: &DocumentNode, otherwise: &str) -> Result<(), Faults> {
    if holds { Ok(()) } else { Err(place.fault(otherwise)) }
}
