//! A document as a tree of values that know their location, so that every error names it.

use serde_json::{Map, Value};

use super::fault::Fault;

/// The maximum length of a chain of references. A longer chain is a cycle.
const HOPS: usize = 32;

/// The HTTP methods of a path item.
pub const METHODS: [&str; 8] =
    ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/// A value in the document with its JSON pointer.
#[derive(Clone)]
pub struct Place<'a> {
    root: &'a Value,
    pub value: &'a Value,
    pointer: String,
}

impl<'a> Place<'a> {
    pub fn root(root: &'a Value) -> Self {
        Self { root, value: root, pointer: String::new() }
    }

    pub fn pointer(&self) -> &str {
        &self.pointer
    }

    pub fn fault(&self, message: impl Into<String>) -> Fault {
        Fault::new(self.pointer.clone(), message)
    }

    /// Returns the member `key`, if this is an object that has it.
    pub fn get(&self, key: &str) -> Option<Self> {
        self.value.get(key).map(|value| self.child(key, value))
    }

    pub fn need(&self, key: &str) -> Result<Self, Fault> {
        self.get(key).ok_or_else(|| self.fault(format!("`{key}` is missing")))
    }

    pub fn object(&self) -> Result<&'a Map<String, Value>, Fault> {
        self.value.as_object().ok_or_else(|| self.expected("an object"))
    }

    pub fn members(&self) -> Result<Vec<(&'a str, Self)>, Fault> {
        let members = self.object()?.iter();
        Ok(members.map(|(key, value)| (key.as_str(), self.child(key, value))).collect())
    }

    pub fn elements(&self) -> Result<Vec<Self>, Fault> {
        let array = self.value.as_array().ok_or_else(|| self.expected("an array"))?;
        let elements = array.iter().enumerate();
        Ok(elements.map(|(index, value)| self.child(&index.to_string(), value)).collect())
    }

    /// Returns the members of the member `key`, or none if it is missing.
    pub fn members_of(&self, key: &str) -> Result<Vec<(&'a str, Self)>, Fault> {
        self.get(key).map_or(Ok(Vec::new()), |member| member.members())
    }

    /// Returns the elements of the member `key`, or none if it is missing.
    pub fn elements_of(&self, key: &str) -> Result<Vec<Self>, Fault> {
        self.get(key).map_or(Ok(Vec::new()), |member| member.elements())
    }

    pub fn string(&self) -> Result<&'a str, Fault> {
        self.value.as_str().ok_or_else(|| self.expected("a string"))
    }

    pub fn strings(&self) -> Result<Vec<String>, Fault> {
        self.elements()?.iter().map(|element| Ok(element.string()?.to_owned())).collect()
    }

    pub fn number(&self) -> Result<f64, Fault> {
        self.value.as_f64().ok_or_else(|| self.expected("a number"))
    }

    pub fn count(&self) -> Result<u64, Fault> {
        self.value.as_u64().ok_or_else(|| self.expected("a non-negative integer"))
    }

    pub fn boolean(&self) -> Result<bool, Fault> {
        self.value.as_bool().ok_or_else(|| self.expected("true or false"))
    }

    /// Returns the flag `key`, or `false` if it is missing.
    pub fn flag(&self, key: &str) -> Result<bool, Fault> {
        self.get(key).map_or(Ok(false), |flag| flag.boolean())
    }

    /// Returns the target of the `$ref`, if there is one.
    pub fn referred(&self) -> Result<Option<Self>, Fault> {
        let Some(reference) = self.get("$ref") else { return Ok(None) };
        let text = reference.string()?;
        let found = text.strip_prefix('#').and_then(|pointer| {
            let value = self.root.pointer(pointer)?;
            Some(Self { root: self.root, value, pointer: pointer.to_owned() })
        });
        match found {
            Some(target) => Ok(Some(target)),
            None => Err(reference.fault(format!("`{text}` is not in this document"))),
        }
    }

    /// Returns this value, or what its `$ref` refers to.
    pub fn resolved(&self) -> Result<Self, Fault> {
        let mut place = self.clone();
        for _ in 0..HOPS {
            match place.referred()? {
                Some(target) => place = target,
                None => return Ok(place),
            }
        }
        Err(self.fault("this `$ref` is circular"))
    }

    pub fn expected(&self, what: &str) -> Fault {
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

    fn child(&self, key: &str, value: &'a Value) -> Self {
        let token = key.replace('~', "~0").replace('/', "~1");
        Self { root: self.root, value, pointer: format!("{}/{token}", self.pointer) }
    }
}
