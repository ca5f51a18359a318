//! Access to the values of a document. Each value can find its location, so every error names the
//! location of the value.

use serde_json::{Map, Value};

use super::faults::{Faults, all};

/// The maximum number of references that lead from the root to a value. A longer chain must be
/// circular.
const MAX_REFERENCES: usize = 32;

/// The HTTP methods of a path item.
pub const METHODS: [&str; 8] =
    ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/// Returns the JSON pointer to the member `key` of the object at `pointer`.
pub fn joined(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// A value in the document.
///
/// A node does not store its JSON pointer, because only faults need the pointer. The method
/// `pointer` searches the document for the value instead.
#[derive(Clone, Copy)]
pub struct DocumentNode<'a> {
    root: &'a Value,
    pub value: &'a Value,
    /// The number of references on the way from the root to this value.
    references: usize,
}

impl<'a> DocumentNode<'a> {
    pub fn root(root: &'a Value) -> Self {
        Self { root, value: root, references: 0 }
    }

    /// Returns the JSON pointer to the value.
    pub fn pointer(&self) -> String {
        let mut steps = Vec::new();
        find(self.value, self.root, &mut steps);
        steps.iter().rev().fold(String::new(), |pointer, step| joined(&pointer, step))
    }

    /// Returns the value at a JSON pointer.
    pub fn at(&self, pointer: &str) -> Option<Self> {
        self.root.pointer(pointer).map(|value| self.child(value))
    }

    /// Whether both nodes are the same value of the document, not only equal values.
    pub fn is(&self, other: &Self) -> bool {
        std::ptr::eq(self.value, other.value)
    }

    /// Returns the whole document.
    pub fn document(&self) -> Self {
        Self::root(self.root)
    }

    /// Fails if there are so many references on the way to this schema that the schema must contain
    /// itself.
    pub fn must_not_recur(&self) -> Result<(), Faults> {
        if self.references > MAX_REFERENCES {
            Err(self.fault("this schema contains itself"))
        } else {
            Ok(())
        }
    }

    pub fn fault(&self, message: impl Into<String>) -> Faults {
        Faults::new(self.pointer(), message)
    }

    /// Returns the member `key`, if this value is an object with this member.
    pub fn get(&self, key: &str) -> Option<Self> {
        self.value.get(key).map(|value| self.child(value))
    }

    pub fn need(&self, key: &str) -> Result<Self, Faults> {
        self.get(key).ok_or_else(|| self.fault(format!("`{key}` is missing")))
    }

    pub fn object(&self) -> Result<&'a Map<String, Value>, Faults> {
        self.value.as_object().ok_or_else(|| self.expected("an object"))
    }

    pub fn members(&self) -> Result<Vec<(&'a str, Self)>, Faults> {
        let members = self.object()?.iter();
        Ok(members.map(|(key, value)| (key.as_str(), self.child(value))).collect())
    }

    pub fn elements(&self) -> Result<Vec<Self>, Faults> {
        let array = self.value.as_array().ok_or_else(|| self.expected("an array"))?;
        Ok(array.iter().map(|value| self.child(value)).collect())
    }

    /// Returns the elements, which must be distinct.
    pub fn distinct_elements(&self) -> Result<Vec<Self>, Faults> {
        let elements = self.elements()?;
        for (index, element) in elements.iter().enumerate() {
            if elements.iter().take(index).any(|other| other.value == element.value) {
                return Err(element.fault("this element occurs twice"));
            }
        }
        Ok(elements)
    }

    /// Returns the members of the member `key`, or none if it is missing.
    pub fn members_of(&self, key: &str) -> Result<Vec<(&'a str, Self)>, Faults> {
        self.get(key).map_or(Ok(Vec::new()), |member| member.members())
    }

    /// Returns the elements of the member `key`, or none if it is missing.
    pub fn elements_of(&self, key: &str) -> Result<Vec<Self>, Faults> {
        self.get(key).map_or(Ok(Vec::new()), |member| member.elements())
    }

    pub fn string(&self) -> Result<&'a str, Faults> {
        self.value.as_str().ok_or_else(|| self.expected("a string"))
    }

    /// Returns a string that is not empty.
    pub fn text(&self) -> Result<&'a str, Faults> {
        match self.string()? {
            text if text.trim().is_empty() => Err(self.fault("this text is empty")),
            text => Ok(text),
        }
    }

    pub fn strings(&self) -> Result<Vec<String>, Faults> {
        self.elements()?.iter().map(|element| Ok(element.string()?.to_owned())).collect()
    }

    pub fn number(&self) -> Result<f64, Faults> {
        self.value.as_f64().ok_or_else(|| self.expected("a number"))
    }

    pub fn count(&self) -> Result<u64, Faults> {
        self.value.as_u64().ok_or_else(|| self.expected("a non-negative integer"))
    }

    pub fn boolean(&self) -> Result<bool, Faults> {
        self.value.as_bool().ok_or_else(|| self.expected("true or false"))
    }

    /// Fails unless the value is `true`. A keyword that should have no effect must be removed
    /// instead of being set to `false`.
    pub fn must_be_true(&self) -> Result<(), Faults> {
        if self.boolean()? {
            Ok(())
        } else {
            Err(self.fault("remove this keyword instead of setting it to false"))
        }
    }

    /// Returns the flag `key`, or `false` if it is missing.
    pub fn flag(&self, key: &str) -> Result<bool, Faults> {
        self.get(key).map_or(Ok(false), |flag| flag.boolean())
    }

    /// Returns the target of the `$ref` in this value, if there is one.
    pub fn referred(&self) -> Result<Option<Self>, Faults> {
        let Some(reference) = self.get("$ref") else { return Ok(None) };
        let text = reference.string()?;
        let found = text.strip_prefix('#').and_then(|pointer| {
            let value = self.root.pointer(pointer)?;
            Some(Self { root: self.root, value, references: self.references + 1 })
        });
        match found {
            Some(target) => Ok(Some(target)),
            None => Err(reference.fault(format!("`{text}` is not in this document"))),
        }
    }

    /// Follows the `$ref` in this value, and any further ones. Returns this value if it has no
    /// `$ref`.
    pub fn resolved(&self) -> Result<Self, Faults> {
        let mut place = *self;
        for _ in 0..MAX_REFERENCES {
            match place.referred()? {
                Some(target) => place = target,
                None => return Ok(place),
            }
        }
        Err(self.fault("this `$ref` is circular"))
    }

    /// Fails if the object has a keyword that is not in `known`. A keyword that the generator does
    /// not read would mislead the authors of the document, because it looks as if it had an effect.
    pub fn must_have_only<'k>(
        &self,
        kind: &str,
        known: impl IntoIterator<Item = &'k str>,
    ) -> Result<(), Faults> {
        let known: Vec<_> = known.into_iter().collect();
        let members = self.members()?;
        let unknown = members.iter().filter(|(keyword, _)| !known.contains(keyword));
        let faults = unknown.map(|(keyword, value)| {
            Err(value.fault(format!(
                "unsupported keyword `{keyword}` in {kind}: add support for it to the generator, \
                 or remove it"
            )))
        });
        all::<()>(faults).map(drop)
    }

    /// Returns the name of the component to which this reference refers. The component must be in
    /// this group, such as `schemas`.
    pub fn component(&self, group: &str) -> Result<&'a str, Faults> {
        self.must_have_only("a reference", ["$ref"])?;
        let reference = self.need("$ref")?;
        let rest = reference.string()?.strip_prefix("#/components/").unwrap_or_default();
        let name = rest.strip_prefix(group).and_then(|rest| rest.strip_prefix('/'));
        let name = name.ok_or_else(|| {
            reference.fault(format!("expected a reference to `#/components/{group}/...`"))
        })?;
        self.referred()?;
        Ok(name)
    }

    pub fn expected(&self, what: &str) -> Faults {
        let found = match self.value {
            Value::Null => "null",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        };
        self.fault(format!("expected {what}, found {found}"))
    }

    fn child(&self, value: &'a Value) -> Self {
        Self { root: self.root, value, references: self.references }
    }
}

/// Finds `wanted` in `value`, and adds the steps that lead to it, the last step first.
fn find(wanted: &Value, value: &Value, steps: &mut Vec<String>) -> bool {
    if std::ptr::eq(wanted, value) {
        return true;
    }
    let step = match value {
        Value::Object(members) => {
            let mut members = members.iter();
            members.find(|(_, value)| find(wanted, value, steps)).map(|(key, _)| key.clone())
        }
        Value::Array(elements) => {
            let position = elements.iter().position(|value| find(wanted, value, steps));
            position.map(|index| index.to_string())
        }
        _ => None,
    };
    let found = step.is_some();
    steps.extend(step);
    found
}
