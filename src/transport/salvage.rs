//! Salvages a truncated or damaged JSON document. The scanner finds members of the outermost
//! object, and of the objects directly in it, if their values are complete strings, numbers or
//! literals (`true`, `false` and `null`).
//!
//! The scanner accepts the document in pieces of any size. Its memory is bounded, and it does not
//! recurse, so a malicious document can exhaust neither the memory nor the stack.

use serde_json::{Map, Value};

/// The maximum length of a name or a value to keep, in bytes. Signed URLs are shorter.
const LONGEST_TOKEN: usize = 16 * 1024;

/// The maximum total length of names and values to keep, in bytes.
const MOST_KEPT: usize = 256 * 1024;

/// The number of levels of objects whose members are kept. The deepest member that the client
/// needs, `result.sample`, is at the second level.
const DEEPEST: usize = 2;

/// Salvages the first object in `bytes`. Returns `None` if there is none.
pub(crate) fn salvage(bytes: &[u8]) -> Option<Value> {
    let mut scanner = Scanner::default();
    scanner.push(bytes);
    scanner.found()
}

/// The state of a scan.
#[derive(Default)]
pub(crate) struct Scanner {
    state: ScanState,
    token: Vec<u8>,
    /// The open objects whose members may be kept, outermost first.
    open: Vec<Object>,
    /// The number of open arrays, and of open objects whose members are not kept.
    deeper: usize,
    kept: usize,
    found: Option<Map<String, Value>>,
}

#[derive(Default, Clone, Copy, PartialEq)]
enum ScanState {
    /// Before the document.
    #[default]
    Before,
    Between,
    Text {
        escaped: bool,
    },
    /// A number or a literal such as `true`.
    Bare,
    /// After the document.
    Done,
}

/// An open object.
#[derive(Default)]
struct Object {
    /// The name of the member whose value comes next, or `None` if a name comes next.
    name: Option<String>,
    /// The members found so far.
    members: Map<String, Value>,
}

impl Scanner {
    pub(crate) fn is_done(&self) -> bool {
        self.state == ScanState::Done
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            match self.state {
                ScanState::Before if byte == b'{' => self.opened(byte),
                ScanState::Before => {}
                ScanState::Done => return,
                ScanState::Text { escaped: true } => {
                    self.keep(byte);
                    self.state = ScanState::Text { escaped: false };
                }
                ScanState::Text { escaped: false } => match byte {
                    b'"' => self.text_ended(),
                    b'\\' => {
                        self.keep(byte);
                        self.state = ScanState::Text { escaped: true };
                    }
                    _ => self.keep(byte),
                },
                ScanState::Bare if is_bare(byte) => self.keep(byte),
                ScanState::Bare => {
                    self.bare_ended();
                    self.between(byte);
                }
                ScanState::Between => self.between(byte),
            }
        }
    }

    /// Returns the members found, including those of objects that are still open.
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
                self.state = ScanState::Text { escaped: false };
            }
            b'{' | b'[' => self.opened(byte),
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
                self.state = ScanState::Bare;
            }
            _ => {}
        }
    }

    fn opened(&mut self, byte: u8) {
        self.state = ScanState::Between;
        if self.deeper > 0 || self.open.len() == DEEPEST || byte == b'[' {
            self.deeper += 1;
        } else {
            self.open.push(Object::default());
        }
    }

    fn closed(&mut self) {
        let Some(Object { members, .. }) = self.open.pop() else { return };
        match self.open.last_mut() {
            Some(Object { name: Some(name), members: outer }) => {
                outer.insert(name.clone(), Value::Object(members));
            }
            Some(_) => {}
            None => {
                self.found = Some(members);
                self.state = ScanState::Done;
            }
        }
    }

    fn text_ended(&mut self) {
        self.state = ScanState::Between;
        if self.deeper > 0 || self.token.len() > LONGEST_TOKEN {
            return;
        }
        let text = unescape(&self.token);
        match self.open.last_mut() {
            Some(Object { name: name @ None, .. }) => *name = Some(text),
            _ => self.insert(Value::String(text)),
        }
    }

    fn bare_ended(&mut self) {
        self.state = ScanState::Between;
        // `NaN`, `Infinity` and similar literals are not JSON. Their members are omitted.
        if self.deeper == 0
            && let Ok(value) = serde_json::from_slice(&self.token)
        {
            self.insert(value);
        }
    }

    fn insert(&mut self, value: Value) {
        if let Some(Object { name: Some(name), members }) = self.open.last_mut()
            && self.kept < MOST_KEPT
        {
            self.kept += name.len() + self.token.len();
            members.insert(name.clone(), value);
        }
    }

    fn keep(&mut self, byte: u8) {
        // Keep one byte more than allowed, to detect tokens that are too long.
        if self.token.len() <= LONGEST_TOKEN {
            self.token.push(byte);
        }
    }
}

fn is_bare(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+-._".contains(&byte)
}

/// Returns the text of a JSON string without its quotes. Invalid UTF-8 is read as Latin-1, and an
/// unpaired surrogate as the replacement character.
fn unescape(raw: &[u8]) -> String {
    let text = match str::from_utf8(raw) {
        Ok(text) => text.to_owned(),
        Err(_) => raw.iter().copied().map(char::from).collect(),
    };
    let mut rest = text.chars();
    let mut units = Vec::with_capacity(text.len());
    while let Some(c) = rest.next() {
        let plain = match (c == '\\').then(|| rest.next()).flatten() {
            Some('u') => {
                let digits: String = rest.by_ref().take(4).collect();
                units.push(u16::from_str_radix(&digits, 16).unwrap_or(0xfffd));
                continue;
            }
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some(other) => other,
            None => c,
        };
        units.extend_from_slice(plain.encode_utf16(&mut [0; 2]));
    }
    String::from_utf16_lossy(&units)
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
    fn complete_members_are_found() {
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
            found(
                br#"{"a":{"b":{"c":1}},"status":"Ready","result":{"n":[{"sample":1}],"sample":"u","#
            ),
            json!({ "a": {}, "status": "Ready", "result": { "sample": "u" } })
        );
        assert_eq!(salvage(br#"["id","t1"]"#), None);
        assert_eq!(salvage(b""), None);
    }

    #[test]
    fn deep_and_long_documents_are_read() {
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
        fn scanning_never_panics_and_does_not_depend_on_chunks(bytes: Vec<u8>, at in 0usize..64) {
            let mut scanner = Scanner::default();
            let at = at.min(bytes.len());
            scanner.push(&bytes[..at]);
            scanner.push(&bytes[at..]);
            prop_assert_eq!(scanner.found(), salvage(&bytes));
        }

        /// The scanner keeps all members of a document with two levels of strings and numbers.
        #[test]
        fn valid_documents_are_read_completely(
            outer in prop::collection::btree_map(any::<String>(), any::<String>(), 0..6),
            inner in prop::collection::btree_map(any::<String>(), any::<i64>(), 0..6),
        ) {
            let mut document = json!(outer);
            document["result"] = json!(inner);
            prop_assert_eq!(found(document.to_string().as_bytes()), document);
        }

        #[test]
        fn truncated_values_are_not_returned(id in "[a-z]{1,9}", cut in 0usize..60) {
            let whole = format!(r#"{{"cost":4,"id":"{id}","polling_url":"https://a.example/p"}}"#);
            let part = &whole[..cut.min(whole.len())];
            let found = found(part.as_bytes());
            if let Some(read) = found.get("id") {
                prop_assert_eq!(read, &id);
            }
        }
    }
}
