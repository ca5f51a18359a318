//! The limits of a JSON document. They are checked before it is parsed: small values take a hundred
//! times the memory of their text.

/// The maximum number of values and names.
const MAX_VALUES: usize = 10_000;

/// The maximum length of a name in bytes, as it is written.
const MAX_NAME_BYTES: usize = 256;

/// Fails if a document exceeds a limit. What is not JSON may pass, because it is not stored.
pub(crate) fn check_limits(document: &[u8]) -> Result<(), String> {
    let mut values = 0;
    let mut rest = document;
    while let Some((first, after)) = rest.split_first() {
        rest = match first {
            b',' | b':' | b']' | b'}' | b' ' | b'\t' | b'\r' | b'\n' => {
                rest = after;
                continue;
            }
            b'[' | b'{' => after,
            b'"' => {
                let (text, after) = string(after);
                let is_name = after.trim_ascii_start().starts_with(b":");
                if is_name && text.len() > MAX_NAME_BYTES {
                    return Err(format!(
                        "a name in the body is longer than {MAX_NAME_BYTES} bytes"
                    ));
                }
                after
            }
            _ => {
                let is_end = |byte: &u8| b",:]} \t\r\n".contains(byte);
                let length = after.iter().position(is_end).unwrap_or(after.len());
                after.get(length..).unwrap_or_default()
            }
        };
        values += 1;
        if values > MAX_VALUES {
            return Err(format!("the body has more than {MAX_VALUES} values and names"));
        }
    }
    Ok(())
}

/// Splits what follows a quotation mark into the text and what follows it.
fn string(document: &[u8]) -> (&[u8], &[u8]) {
    let mut is_escaped = false;
    let is_end = |byte: &u8| {
        let ends = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        ends
    };
    let length = document.iter().position(is_end).unwrap_or(document.len());
    let (text, end) = document.split_at(length);
    (text, end.get(1..).unwrap_or_default())
}
