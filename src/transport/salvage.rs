//! Reads what can be read of a JSON document that is truncated or damaged: the members of its
//! outermost object, and of the objects in it, whose values are text, numbers, `true` or `false`
//! and arrived whole.
//!
//! It never recurses, takes a document in pieces of any size, and keeps a bounded part of it.

use serde_json::{Map, Value};

/// The longest name or value that is kept, in bytes. A signed URL is shorter.
const LONGEST_TOKEN: usize = 16 * 1024;

/// How many bytes of names and values are kept in all.
const MOST_KEPT: usize = 256 * 1024;

/// Objects deeper than this hold nothing that is looked for: `result.sample` is in the second.
const DEEPEST: usize = 2;

/// What can be read of `bytes`: an object, or `None` if there is none.
pub(crate) fn salvage(bytes: &[u8]) -> Option<Value> {
    let mut scanner = Scanner::default();
    scanner.push(bytes);
    scanner.found()
}

/// A scanner in the middle of a document.
#[derive(Default)]
pub(crate) struct Scanner {
    state: State,
    token: Vec<u8>,
    /// The open objects and arrays, outermost first, as far as members are kept.
    open: Vec<Container>,
    /// How many more are open within those.
    deeper: usize,
    kept: usize,
    found: Option<Map<String, Value>>,
}

#[derive(Default, Clone, Copy, PartialEq)]
enum State {
    /// In front of the document.
    #[default]
    Before,
    Between,
    Text {
        escaped: bool,
    },
    /// A number or a word.
    Bare,
    /// Behind the document.
    Done,
}

/// An open object or array.
struct Container {
    is_object: bool,
    /// The name of the member whose value comes next; `None` where a name comes next.
    name: Option<String>,
    /// What was kept of an object within the outermost one.
    members: Map<String, Value>,
}

impl Scanner {
    pub(crate) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            match self.state {
                State::Before if byte == b'{' => self.opened(true),
                State::Before => {}
                State::Done => return,
                State::Text { escaped: true } => {
                    self.keep(byte);
                    self.state = State::Text { escaped: false };
                }
                State::Text { escaped: false } => match byte {
                    b'"' => self.text_ended(),
                    b'\\' => {
                        self.keep(byte);
                        self.state = State::Text { escaped: true };
                    }
                    _ => self.keep(byte),
                },
                State::Bare if is_bare(byte) => self.keep(byte),
                State::Bare => {
                    self.bare_ended();
                    self.between(byte);
                }
                State::Between => self.between(byte),
            }
        }
    }

    /// What was found, that of objects which are still open included.
    pub(crate) fn found(mut self) -> Option<Value> {
        while !self.open.is_empty() {
            self.closed();
        }
        self.found.map(Value::Object)
    }

    fn between(&mut self, byte: u8) {
        match byte {
            b'"' => {
                self.token.clear();
                self.state = State::Text { escaped: false };
            }
            b'{' => self.opened(true),
            b'[' => self.opened(false),
            b'}' | b']' if self.deeper > 0 => self.deeper -= 1,
            b'}' | b']' => self.closed(),
            b',' if self.deeper == 0 => {
                if let Some(object) = self.open.last_mut() {
                    object.name = None;
                }
            }
            _ if is_bare(byte) => {
                self.token.clear();
                self.keep(byte);
                self.state = State::Bare;
            }
            _ => {}
        }
    }

    fn opened(&mut self, is_object: bool) {
        self.state = State::Between;
        if self.deeper > 0
            || self.open.len() == DEEPEST
            || self.open.last().is_some_and(|c| !c.is_object)
        {
            self.deeper += 1;
        } else {
            self.open.push(Container { is_object, name: None, members: Map::new() });
        }
    }

    fn closed(&mut self) {
        let Some(Container { is_object, members, .. }) = self.open.pop() else { return };
        match self.open.last_mut() {
            Some(Container { name: Some(name), members: outer, .. }) if is_object => {
                outer.insert(name.clone(), Value::Object(members));
            }
            Some(_) => {}
            None => {
                self.found = Some(members);
                self.state = State::Done;
            }
        }
    }

    fn text_ended(&mut self) {
        self.state = State::Between;
        if self.deeper > 0 || self.token.len() > LONGEST_TOKEN {
            return;
        }
        let text = unescaped(&self.token);
        match self.open.last_mut() {
            Some(Container { is_object: true, name: name @ None, .. }) => *name = Some(text),
            _ => self.insert(Value::String(text)),
        }
    }

    fn bare_ended(&mut self) {
        self.state = State::Between;
        // `NaN`, `Infinity` and the like are not JSON, so their member is left out.
        if self.deeper == 0
            && let Ok(value) = serde_json::from_slice(&self.token)
        {
            self.insert(value);
        }
    }

    fn insert(&mut self, value: Value) {
        if let Some(Container { is_object: true, name: Some(name), members }) = self.open.last_mut()
            && self.kept < MOST_KEPT
        {
            self.kept += name.len() + self.token.len();
            members.insert(name.clone(), value);
        }
    }

    fn keep(&mut self, byte: u8) {
        // One more than is allowed, which tells that it is too long.
        if self.token.len() <= LONGEST_TOKEN {
            self.token.push(byte);
        }
    }
}

fn is_bare(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+-._".contains(&byte)
}

/// The text of a JSON string, escapes resolved. What UTF-8 can't be is read as Latin-1, and half a
/// surrogate pair as the replacement character.
fn unescaped(raw: &[u8]) -> String {
    let text = match std::str::from_utf8(raw) {
        Ok(text) => text.to_owned(),
        Err(_) => raw.iter().copied().map(char::from).collect(),
    };
    if !text.contains('\\') {
        return text;
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    let mut units: Vec<u16> = Vec::new();
    while let Some(c) = rest.next() {
        let escape = (c == '\\').then(|| rest.next()).flatten();
        if escape == Some('u') {
            let digits: String = rest.by_ref().take(4).collect();
            units.push(u16::from_str_radix(&digits, 16).unwrap_or(0xfffd));
            continue;
        }
        plain.extend(char::decode_utf16(units.drain(..)).map(|unit| unit.unwrap_or('\u{fffd}')));
        plain.push(match escape {
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some(other) => other,
            None => c,
        });
    }
    plain.extend(char::decode_utf16(units).map(|unit| unit.unwrap_or('\u{fffd}')));
    plain
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn found(text: &[u8]) -> Value {
        salvage(text).unwrap_or_default()
    }

    #[test]
    fn finds_what_arrived_whole() {
        assert_eq!(found(br#"{"id":"t1","polling_url":"https://a.ex"#), json!({ "id": "t1" }));
        assert_eq!(found(br#"{"id":"t1","cost":4"#), json!({ "id": "t1" }));
        assert_eq!(found(br#"{"cost":NaN,"id":77,"x":-Infinity}"#), json!({ "id": 77 }));
        assert_eq!(
            found(b"\xef\xbb\xbf)]}',\n{\"id\":\"t1\"} trailing {\"id\":\"t2\"}"),
            json!({ "id": "t1" })
        );
        assert_eq!(found(b"{\"id\":\"caf\xe9\"}"), json!({ "id": "caf\u{e9}" }));
        assert_eq!(
            found(br#"{"id":"\ud800x\ud83e\udd8a\"\/"}"#),
            json!({ "id": "\u{fffd}x\u{1f98a}\"/" })
        );
        assert_eq!(
            found(br#"{"a":{"b":{"c":1}},"status":"Ready","result":{"n":[{"sample":1}],"sample":"u","#),
            json!({ "a": {}, "status": "Ready", "result": { "sample": "u" } })
        );
        assert_eq!(salvage(br#"["id","t1"]"#), None);
        assert_eq!(salvage(b""), None);
    }

    #[test]
    fn is_not_exhausted_by_depth_or_length() {
        let deep =
            format!("{{\"x\":{}1{},\"id\":\"t1\"}}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(found(deep.as_bytes()), json!({ "id": "t1" }));
        let deep = format!(
            "{{\"x\":{},\"id\":\"t2\"",
            "{\"y\":".repeat(100_000) + "1" + &"}".repeat(100_000)
        );
        assert_eq!(found(deep.as_bytes())["id"], "t2");
        let long = format!("{{\"x\":\"{}\",\"id\":\"t3\"}}", "y".repeat(1_000_000));
        assert_eq!(found(long.as_bytes()), json!({ "id": "t3" }));
        let many: String =
            (0..20_000).map(|n| format!("\"name{n}\":\"{}\",", "v".repeat(50))).collect();
        assert!(found(format!("{{{many}").as_bytes()).to_string().len() < 2 * MOST_KEPT);
    }

    proptest! {
        #[test]
        fn never_panics_and_does_not_depend_on_the_pieces(bytes: Vec<u8>, at in 0usize..64) {
            let mut scanner = Scanner::default();
            let at = at.min(bytes.len());
            scanner.push(&bytes[..at]);
            scanner.push(&bytes[at..]);
            prop_assert_eq!(scanner.found(), salvage(&bytes));
        }

        /// Two levels of scalars are exactly what is kept, so for such documents nothing is lost.
        #[test]
        fn reads_what_a_strict_reader_reads(
            outer in prop::collection::btree_map(any::<String>(), any::<String>(), 0..6),
            inner in prop::collection::btree_map(any::<String>(), any::<i64>(), 0..6),
        ) {
            let mut document = json!(outer);
            document["result"] = json!(inner);
            prop_assert_eq!(found(document.to_string().as_bytes()), document);
        }

        #[test]
        fn finds_nothing_that_is_not_there(id in "[a-z]{1,9}", cut in 0usize..60) {
            let whole = format!(r#"{{"cost":4,"id":"{id}","polling_url":"https://a.example/p"}}"#);
            let part = &whole[..cut.min(whole.len())];
            let found = found(part.as_bytes());
            if let Some(read) = found.get("id") {
                prop_assert_eq!(read, &id);
            }
        }
    }
}
