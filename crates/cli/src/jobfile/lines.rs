//! The lines of a file: numbered, bounded, and valid UTF-8.

use std::io::{self, BufRead, Read};

/// The maximum length of a line in bytes, which is enough for an image in a `data:` URL.
pub const LONGEST: usize = 32 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The problem of a line with a bare carriage return. A file with the line ends of old Macs would
/// otherwise be a single line, and become a single job.
pub const BARE_CR: &str = "contains a carriage return (CR) that is not followed by a line \
                                  feed; save the file with LF or CRLF line ends";

/// Reads lines that end with LF, CRLF or the end of the file.
pub struct Lines<R> {
    input: R,
    number: u64,
    /// Whether a line may contain a carriage return, as the quoted cells of CSV may.
    pub keeps_cr: bool,
}

pub struct Line {
    /// The number of the line, starting at 1.
    pub number: u64,
    /// The line without its ending, or an error message.
    pub text: Result<String, String>,
    pub ending: &'static str,
}

impl<R: BufRead> Lines<R> {
    pub fn new(input: R) -> Self {
        Self { input, number: 0, keeps_cr: false }
    }

    pub fn next(&mut self) -> io::Result<Option<Line>> {
        let mut bytes = Vec::new();
        let limit = LONGEST + 1;
        if self.input.by_ref().take(limit as u64).read_until(b'\n', &mut bytes)? == 0 {
            return Ok(None);
        }
        self.number += 1;
        if bytes.len() == limit && !bytes.ends_with(b"\n") {
            self.input.skip_until(b'\n')?;
            let problem = format!("is longer than {} MiB", LONGEST / (1024 * 1024));
            return Ok(Some(Line { number: self.number, text: Err(problem), ending: "\n" }));
        }
        let ending = ["\r\n", "\n"].into_iter().find(|ending| bytes.ends_with(ending.as_bytes()));
        let ending = ending.unwrap_or_default();
        bytes.truncate(bytes.len() - ending.len());
        if self.number == 1 && bytes.starts_with(BYTE_ORDER_MARK) {
            bytes.drain(..BYTE_ORDER_MARK.len());
        }
        let at = |index: usize| format!("at byte {}; save the file as UTF-8", index + 1);
        let text = match bytes.iter().position(|byte| *byte == 0) {
            Some(index) => Err(format!("contains a NUL, as UTF-16 does, {}", at(index))),
            None => String::from_utf8(bytes).map_err(|error| {
                format!("is not valid UTF-8 {}", at(error.utf8_error().valid_up_to()))
            }),
        };
        let text = match text {
            Ok(text) if text.contains('\r') && !self.keeps_cr => Err(BARE_CR.to_owned()),
            text => text,
        };
        Ok(Some(Line { number: self.number, text, ending }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Vec<(u64, Result<String, String>)> {
        let mut lines = Lines::new(bytes);
        let next = || lines.next().unwrap().map(|line| (line.number, line.text));
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn endings_and_the_byte_order_mark_are_not_part_of_a_line() {
        let lines = all(b"\xef\xbb\xbfa\r\n\nbc");
        assert_eq!(lines, [(1, Ok("a".into())), (2, Ok("".into())), (3, Ok("bc".into()))]);
        assert_eq!(all(b""), []);
    }

    #[test]
    fn a_line_that_is_not_utf8_does_not_hide_the_next_one() {
        let lines = all(b"ab\xff\nc\n");
        let problem = "is not valid UTF-8 at byte 3; save the file as UTF-8";
        assert_eq!(lines, [(1, Err(problem.into())), (2, Ok("c".into()))]);
    }

    #[test]
    fn carriage_returns_are_not_line_ends() {
        for text in ["a\rb\rc", "a\r", "a\r\r\n"] {
            assert_eq!(all(text.as_bytes()), [(1, Err(BARE_CR.into()))], "{text:?}");
        }
    }

    #[test]
    fn utf16_without_a_byte_order_mark_is_refused() {
        let encode = |swap: fn(u16) -> [u8; 2]| "fox\n".encode_utf16().flat_map(swap).collect();
        let little: Vec<u8> = encode(u16::to_le_bytes);
        let big: Vec<u8> = encode(u16::to_be_bytes);
        for (bytes, at) in [(little, 2), (big, 1)] {
            let problem = all(&bytes).remove(0).1.unwrap_err();
            assert!(problem.contains(&format!("NUL, as UTF-16 does, at byte {at};")), "{problem}");
        }
    }

    #[test]
    fn a_line_is_bounded() {
        let mut text = vec![b'x'; LONGEST];
        text.extend(b"\n");
        text.extend(vec![b'x'; LONGEST + 1]);
        text.extend(b"\nc");
        let lines = all(&text);
        assert_eq!(lines[0].1.as_ref().map(String::len), Ok(LONGEST));
        assert_eq!(lines[1], (2, Err("is longer than 32 MiB".into())));
        assert_eq!(lines[2], (3, Ok("c".into())));
    }
}
