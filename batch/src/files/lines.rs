//! The lines of a file: numbered, bounded, and valid UTF-8.

use std::io::{self, BufRead, Read};

/// The maximum length of a line in bytes. Enough for an image in a `data:` URL.
pub(super) const LONGEST: usize = 32 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads lines that end with LF, CRLF or the end of the file.
pub(super) struct Lines<R> {
    input: R,
    number: u64,
}

pub(super) struct Line {
    /// From 1.
    pub(super) number: u64,
    /// The line without its ending, or an error message.
    pub(super) text: Result<String, String>,
    pub(super) ending: &'static str,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, number: 0 }
    }

    pub(super) fn next(&mut self) -> io::Result<Option<Line>> {
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
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to() + 1;
            format!("is not valid UTF-8 at byte {at}; save the file as UTF-8")
        });
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
        let lines = all(b"\xef\xbb\xbfa\r\n\nb\rc");
        assert_eq!(lines, [(1, Ok("a".into())), (2, Ok("".into())), (3, Ok("b\rc".into()))]);
        assert_eq!(all(b""), []);
    }

    #[test]
    fn a_line_that_is_not_utf8_does_not_hide_the_next_one() {
        let lines = all(b"ab\xff\nc\n");
        let problem = "is not valid UTF-8 at byte 3; save the file as UTF-8";
        assert_eq!(lines, [(1, Err(problem.into())), (2, Ok("c".into()))]);
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
