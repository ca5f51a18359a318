//! A document as a tree of nodes that know their location, for error messages.

use std::cell::Cell;

use anyhow::{Context, bail};
use serde_json::{Map, Value};

/// The maximum number of schemas in a document, because nested `$ref`s multiply.
const SCHEMAS: u32 = 200_000;

/// The maximum length of a chain of references.
const HOPS: usize = 32;

/// A complete document.
pub struct Source<'a> {
    root: &'a Value,
    schemas_left: Cell<u32>,
}

impl<'a> Source<'a> {
    pub fn new(root: &'a Value) -> Self {
        Self { root, schemas_left: Cell::new(SCHEMAS) }
    }

    pub fn root(&self) -> Node<'a, '_> {
        Node { source: self, value: self.root, place: String::new() }
    }
}

/// A value and its location.
#[derive(Clone)]
pub struct Node<'a, 's> {
    source: &'s Source<'a>,
    pub value: &'a Value,
    place: String,
}

impl<'a, 's> Node<'a, 's> {
    /// The location as a JSON pointer.
    pub fn place(&self) -> &str {
        if self.place.is_empty() { "the document" } else { &self.place }
    }

    /// The member of this name; `None` also if this is not an object.
    pub fn get(&self, name: &str) -> Option<Self> {
        self.value.get(name).map(|value| self.child(name, value))
    }

    pub fn object(&self) -> anyhow::Result<&'a Map<String, Value>> {
        self.value.as_object().with_context(|| self.mismatch("an object"))
    }

    pub fn text(&self) -> anyhow::Result<&'a str> {
        self.value.as_str().with_context(|| self.mismatch("a string"))
    }

    pub fn flag(&self) -> anyhow::Result<bool> {
        self.value.as_bool().with_context(|| self.mismatch("true or false"))
    }

    pub fn number(&self) -> anyhow::Result<f64> {
        self.value.as_f64().with_context(|| self.mismatch("a number"))
    }

    /// The members, by name.
    pub fn members(&self) -> anyhow::Result<Vec<(&'a str, Self)>> {
        let members = self.object()?.iter();
        Ok(members.map(|(name, value)| (name.as_str(), self.child(name, value))).collect())
    }

    pub fn items(&self) -> anyhow::Result<Vec<Self>> {
        let items = self.value.as_array().with_context(|| self.mismatch("an array"))?;
        let nodes = items.iter().enumerate();
        Ok(nodes.map(|(index, value)| self.child(&index.to_string(), value)).collect())
    }

    /// A boolean member; `false` if it is missing.
    pub fn flag_at(&self, name: &str) -> anyhow::Result<bool> {
        self.get(name).map_or(Ok(false), |node| node.flag())
    }

    /// The members of a member; none if it is missing.
    pub fn members_at(&self, name: &str) -> anyhow::Result<Vec<(&'a str, Self)>> {
        self.get(name).map_or_else(|| Ok(Vec::new()), |node| node.members())
    }

    /// The items of a member; none if it is missing.
    pub fn items_at(&self, name: &str) -> anyhow::Result<Vec<Self>> {
        self.get(name).map_or_else(|| Ok(Vec::new()), |node| node.items())
    }

    /// The target of this node's `$ref`, if it has one.
    pub fn referred(&self) -> anyhow::Result<Option<Self>> {
        let Some(reference) = self.get("$ref") else {
            return Ok(None);
        };
        let text = reference.text()?;
        let target = text.strip_prefix('#').and_then(|pointer| {
            let value = self.source.root.pointer(pointer)?;
            Some(Node { source: self.source, value, place: pointer.to_owned() })
        });
        let found = target
            .with_context(|| format!("{}: `{text}` is not in this document", reference.place()))?;
        Ok(Some(found))
    }

    /// This node, or the target of its `$ref`.
    pub fn resolved(&self) -> anyhow::Result<Self> {
        let mut node = self.clone();
        for _ in 0..HOPS {
            match node.referred()? {
                Some(target) => node = target,
                None => return Ok(node),
            }
        }
        bail!("{}: this `$ref` is circular", self.place())
    }

    /// Counts a schema. Fails if the document has too many, with all `$ref`s followed.
    pub fn count_schema(&self) -> anyhow::Result<()> {
        let left = self.source.schemas_left.get();
        if left == 0 {
            bail!(
                "{}: too large: more than {SCHEMAS} schemas, with all `$ref`s followed",
                self.place()
            );
        }
        self.source.schemas_left.set(left - 1);
        Ok(())
    }

    fn child(&self, name: &str, value: &'a Value) -> Self {
        let name = name.replace('~', "~0").replace('/', "~1");
        Node { source: self.source, value, place: format!("{}/{name}", self.place) }
    }

    fn mismatch(&self, expected: &str) -> String {
        let kind = match self.value {
            Value::Null => "null",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        };
        format!("{}: expected {expected}, found {kind}", self.place())
    }
}
