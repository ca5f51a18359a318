//! Errors in the document, with their location.

use std::fmt;

use serde_json::Value;

/// An error in the document: a JSON pointer to the location, and what is wrong there.
#[derive(Debug)]
pub struct Fault {
    place: String,
    message: String,
}

impl Fault {
    pub fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: place.into(), message: message.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place.as_str() {
            "" => f.write_str(&self.message),
            place => write!(f, "at `{place}`: {}", self.message),
        }
    }
}

impl std::error::Error for Fault {}

/// A value in the document with its JSON pointer.
#[derive(Clone)]
pub struct Place<'a> {
    pub value: &'a Value,
    pointer: String,
}

impl<'a> Place<'a> {
    pub fn root(value: &'a Value) -> Self {
        Self { value, pointer: String::new() }
    }

    pub fn fault(&self, message: impl Into<String>) -> Fault {
        Fault::new(self.pointer.clone(), message)
    }

    /// Returns the member `key`, if there is one.
    pub fn get(&self, key: &str) -> Option<Place<'a>> {
        let value = self.value.get(key)?;
        let token = key.replace('~', "~0").replace('/', "~1");
        Some(Place { value, pointer: format!("{}/{token}", self.pointer) })
    }

    pub fn need(&self, key: &str) -> Result<Place<'a>, Fault> {
        self.get(key).ok_or_else(|| self.fault(format!("`{key}` is missing")))
    }

    pub fn members(&self) -> Result<Vec<(&'a str, Place<'a>)>, Fault> {
        let object = self.value.as_object().ok_or_else(|| self.expected("an object"))?;
        Ok(object.keys().filter_map(|key| Some((key.as_str(), self.get(key)?))).collect())
    }

    pub fn elements(&self) -> Result<Vec<Place<'a>>, Fault> {
        let array = self.value.as_array().ok_or_else(|| self.expected("an array"))?;
        let place = |(index, value)| Place { value, pointer: format!("{}/{index}", self.pointer) };
        Ok(array.iter().enumerate().map(place).collect())
    }

    pub fn object(&self) -> Result<serde_json::Map<String, Value>, Fault> {
        self.value.as_object().cloned().ok_or_else(|| self.expected("an object"))
    }

    pub fn string(&self) -> Result<&'a str, Fault> {
        self.value.as_str().ok_or_else(|| self.expected("a string"))
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

    pub fn strings(&self) -> Result<Vec<String>, Fault> {
        self.elements()?.iter().map(|element| Ok(element.string()?.to_owned())).collect()
    }

    /// Follows `#/...` references.
    pub fn resolve(&self, root: &Place<'a>) -> Result<Place<'a>, Fault> {
        let mut place = self.clone();
        // A longer chain is a cycle.
        for _ in 0..16 {
            let Some(reference) = place.get("$ref") else { return Ok(place) };
            let target = reference.string()?;
            let pointer = target
                .strip_prefix('#')
                .ok_or_else(|| reference.fault(format!("`{target}` refers to another document")))?;
            let value = root
                .value
                .pointer(pointer)
                .ok_or_else(|| reference.fault(format!("`{target}` does not exist")))?;
            place = Place { value, pointer: pointer.to_owned() };
        }
        Err(self.fault("the references form a cycle"))
    }

    fn expected(&self, what: &str) -> Fault {
        self.fault(format!("expected {what}, found `{}`", self.value))
    }
}
