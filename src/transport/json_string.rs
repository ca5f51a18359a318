//! Decodes JSON strings, including damaged ones.

/// Returns the text of a JSON string without its quotes. Invalid UTF-8 is read as Latin-1, and an
/// unpaired surrogate as the replacement character.
pub(super) fn unescape(raw: &[u8]) -> String {
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
