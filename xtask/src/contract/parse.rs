//! Parses the document. JSON allows a key to occur twice in an object, and most parsers silently
//! keep one of them, so this one refuses it. It also refuses characters that control what is shown:
//! a text would end the comments of the generated code, or look different from what it is.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::{Faults, all, joined};

pub fn parse(document: &str) -> Result<Value, Faults> {
    let node: Node = serde_json::from_str(document)
        .map_err(|error| Faults::new("", format!("could not parse the document: {error}")))?;
    let mut faults = Vec::new();
    let value = node.read("", &mut faults);
    all(faults.into_iter().map(Err::<(), _>)).map(|_| value)
}

/// A value whose objects have all their members.
#[derive(serde::Deserialize)]
#[serde(untagged)]
enum Node {
    Object(Members),
    List(Vec<Self>),
    Other(Value),
}

struct Members(Vec<(String, Node)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = access.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Reader)
    }
}

impl Node {
    /// Returns the value at a pointer, and adds its faults.
    fn read(self, pointer: &str, faults: &mut Vec<Faults>) -> Value {
        match self {
            Self::Object(Members(members)) => {
                let mut object = Map::new();
                for (key, member) in members {
                    // The place must not control the terminal.
                    let place = joined(pointer, &key.replace(is_control, "?"));
                    faults.extend(control(&format!("the key {key:?}"), &key, &place));
                    if object.contains_key(&key) {
                        faults.push(Faults::new(place.as_str(), "this key occurs twice"));
                    }
                    object.insert(key, member.read(&place, faults));
                }
                object.into()
            }
            Self::List(list) => {
                let list = list.into_iter().enumerate();
                list.map(|(index, one)| one.read(&format!("{pointer}/{index}"), faults)).collect()
            }
            Self::Other(value) => {
                let text = value.as_str().unwrap_or_default();
                faults.extend(control("this text", text, pointer));
                value
            }
        }
    }
}

/// The fault of a text with a control character.
fn control(what: &str, text: &str, pointer: &str) -> Option<Faults> {
    let code = u32::from(text.chars().find(|character| is_control(*character))?);
    let message = format!("{what} has the control character U+{code:04X}: remove it");
    Some(Faults::new(pointer, message))
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
