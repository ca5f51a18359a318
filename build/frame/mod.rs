//! Checks the document outside of its schemas: that each kind of object has the keywords that the
//! generator knows, and only those, and that the parts agree.
//!
//! A keyword that nothing reads would mislead: it looks as if it had an effect.

mod agreement;
mod kinds;

use super::{
    document::{DocumentNode, METHODS},
    fault::Fault,
};

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

pub use self::agreement::{check_callbacks, check_components};

/// Checks all of the document except its schemas.
pub fn check(root: &DocumentNode) -> Result<(), Fault> {
    check_object(root, &DOCUMENT)?;
    agreement::check(root)
}

fn check_object(place: &DocumentNode, kind: &Kind) -> Result<(), Fault> {
    known(place, kind.name, kind.keywords.iter().map(|keyword| keyword.name))?;
    for keyword in kind.keywords.iter().filter(|keyword| keyword.is_required) {
        place.need(keyword.name)?;
    }
    for keyword in kind.keywords {
        if let Some(value) = place.get(keyword.name) {
            check_content(&value, &keyword.value)?;
        }
    }
    Ok(())
}

/// Fails if the object at `place` has other keywords than `known`.
pub fn known<'k>(
    place: &DocumentNode,
    kind: &str,
    known: impl Iterator<Item = &'k str> + Clone,
) -> Result<(), Fault> {
    for (keyword, value) in place.members()? {
        if !known.clone().any(|name| name == keyword) {
            return Err(value.fault(format!(
                "unsupported keyword `{keyword}` in {kind}: add support for it to the generator, \
                 or remove it"
            )));
        }
    }
    Ok(())
}

/// Checks the notes of a schema on the interface: gaps and corrections.
pub fn check_notes(schema: &DocumentNode) -> Result<(), Fault> {
    for (keyword, content) in [("x-not-shown", &TEXTS), ("x-correction", &CORRECTIONS)] {
        if let Some(notes) = schema.get(keyword) {
            check_content(&notes, content)?;
        }
    }
    Ok(())
}

fn check_content(place: &DocumentNode, content: &Content) -> Result<(), Fault> {
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
            check_reference(place, group).map(|_| ())
        }
        Content::Component(_, kind) => check_object(place, kind),
        Content::List(element) => {
            let elements = place.distinct_elements()?;
            ensure(!elements.is_empty(), place, "this list is empty")?;
            elements.iter().try_for_each(|value| check_content(value, element))
        }
        Content::NoElements => {
            ensure(place.elements()?.is_empty(), place, "expected an empty list")
        }
        Content::Named(member) => {
            let members = place.members()?;
            ensure(!members.is_empty(), place, "this object is empty")?;
            members.iter().try_for_each(|(_, value)| check_content(value, member))
        }
        Content::PathItem(operation) => {
            let methods = place.members()?;
            known(place, "a path item", METHODS.into_iter())?;
            ensure(!methods.is_empty(), place, "this path has no operation")?;
            methods.iter().try_for_each(|(_, value)| check_object(value, operation))
        }
    }
}

/// Checks a reference to a component of this group, and returns the name of the component.
pub fn check_reference<'a>(place: &DocumentNode<'a>, group: &str) -> Result<&'a str, Fault> {
    known(place, "a reference", ["$ref"].into_iter())?;
    let reference = place.need("$ref")?;
    let rest = reference.string()?.strip_prefix("#/components/").unwrap_or_default();
    let name = rest.strip_prefix(group).and_then(|rest| rest.strip_prefix('/'));
    let name = name.ok_or_else(|| {
        reference.fault(format!("expected a reference to `#/components/{group}/...`"))
    })?;
    place.referred()?;
    Ok(name)
}

fn ensure(holds: bool, place: &DocumentNode, otherwise: &str) -> Result<(), Fault> {
    if holds { Ok(()) } else { Err(place.fault(otherwise)) }
}
