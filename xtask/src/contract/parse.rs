//! Parses the document. JSON allows a key to occur twice in an object, and most parsers silently
//! keep one of them, so this one refuses it. It also refuses characters that control what is shown:
//! a text would end the comments of the generated code, or look different from what it is.

use std::{cell::RefCell, fmt};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::{Faults, all, joined};

pub fn parse(document: &str) -> Result<Value, Faults> {
    let faults = RefCell::new(Vec::new());
    let mut deserializer = serde_json::Deserializer::from_str(document);
    let parsed = Node { pointer: String::new(), faults: &faults }
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value));
    let value = parsed
        .map_err(|error| Faults::new("", format!("could not parse the document: {error}")))?;
    all(faults.take().into_iter().map(Err::<(), _>)).map(|_| value)
}

/// A value at `pointer`, to be parsed.
struct Node<'a> {
    pointer: String,
    /// The faults, which an error of the deserializer can't carry.
    faults: &'a RefCell<Vec<Faults>>,
}

impl Node<'_> {
    fn child(&self, key: &str) -> Self {
        // The place must not control the terminal.
        let pointer = joined(&self.pointer, &key.replace(is_control, "?"));
        Self { pointer, faults: self.faults }
    }

    fn report(&self, message: &str) {
        self.faults.borrow_mut().push(Faults::new(self.pointer.clone(), message));
    }

    fn check(&self, what: &str, text: &str) {
        if let Some(character) = text.chars().find(|character| is_control(*character)) {
            let code = u32::from(character);
            self.report(&format!("{what} has the control character U+{code:04X}: remove it"));
        }
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
        self.check("this text", value);
        Ok(value.into())
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
                node.report("this key occurs twice");
            }
            self.check(&format!("the key {key:?}"), &key);
            object.insert(key, members.next_value_seed(node)?);
        }
        Ok(object.into())
    }
}

/// Whether the character controls the terminal, or the direction of the text around it, so that it
/// looks different from what it is.
fn is_control(character: char) -> bool {
    let is_bidirectional = matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    is_bidirectional || (character.is_control() && !matches!(character, '\n' | '\t'))
}
