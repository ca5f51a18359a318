//! Parses the document. JSON allows a key to occur twice in an object, and most parsers silently
//! keep one of them, so this one refuses it. It also refuses control characters, which would end
//! the comments of the generated code.

use std::{cell::RefCell, fmt};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::{document::joined, fault::Fault};

pub fn parse(document: &str) -> Result<Value, Fault> {
    let fault = RefCell::new(None);
    let mut deserializer = serde_json::Deserializer::from_str(document);
    let parsed = Node { pointer: String::new(), fault: &fault }
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value));
    parsed.map_err(|error| {
        let unreadable = || Fault::new("", format!("could not parse the document: {error}"));
        fault.take().unwrap_or_else(unreadable)
    })
}

/// A value at `pointer`, to be parsed.
struct Node<'a> {
    pointer: String,
    /// The first fault, which an error of the deserializer can't carry.
    fault: &'a RefCell<Option<Fault>>,
}

impl Node<'_> {
    fn child(&self, key: &str) -> Self {
        Self { pointer: joined(&self.pointer, key), fault: self.fault }
    }

    fn fail<T, E: Error>(&self, message: &str) -> Result<T, E> {
        *self.fault.borrow_mut() = Some(Fault::new(self.pointer.clone(), message));
        Err(E::custom(message))
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        if has_control_character(value) {
            self.fail("this text has a control character")
        } else {
            Ok(value.into())
        }
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = elements.next_element_seed(self.child(&list.len().to_string()))? {
            list.push(element);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            let node = self.child(&key);
            if object.contains_key(&key) {
                return node.fail("this key occurs twice");
            }
            if has_control_character(&key) {
                return self.fail(&format!("the key {key:?} has a control character"));
            }
            object.insert(key, members.next_value_seed(node)?);
        }
        Ok(object.into())
    }
}

fn has_control_character(text: &str) -> bool {
    text.contains(|character: char| character.is_control() && !matches!(character, '\n' | '\t'))
}
