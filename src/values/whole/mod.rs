//! Checks from the structure of its format whether a picture is complete, for the formats that the
//! contract names, and MP4 and WebM.
//!
//! A [`Checker`] takes bytes in chunks of any size and buffers only a few dozen of them. It follows
//! lengths and markers. It does not decode, and does not verify checksums.

mod ebml;
mod iso;
mod jpeg;
mod png;
mod scan;
#[cfg(test)]
mod tests;
mod webp;

use self::scan::{Format, Scanner};
use crate::{FileKind, values::file_kind::HEAD};

/// The number of leading bytes that identify the family of formats, and therefore the structure to
/// follow.
const FAMILY: usize = 12;

/// How much of a picture has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// The end has not arrived.
    Partial,
    /// The picture may end here, but the format allows more to follow. Only the end of the response
    /// shows whether it does.
    Open,
    /// The end has arrived. Any following bytes do not belong to the picture.
    Complete,
    /// The structure is damaged, so the end cannot be found.
    Damaged,
}

/// Follows the structure of a picture of any format.
#[derive(Default)]
pub(crate) struct Checker {
    head: Vec<u8>,
    scanner: Option<Scanner>,
}

impl Checker {
    pub(crate) fn feed(&mut self, chunk: &[u8]) {
        let known = self.head.len();
        self.head.extend(chunk.iter().take(HEAD - known));
        if known < FAMILY
            && let Some(family) = self.head.get(..FAMILY)
        {
            self.scanner = FileKind::of(family).and_then(format_of).map(Scanner::new);
            if let Some(scanner) = &mut self.scanner {
                scanner.feed(family.get(..known).unwrap_or_default());
            }
        }
        if let Some(scanner) = &mut self.scanner {
            scanner.feed(chunk);
        }
    }

    /// Returns the format detected from the first bytes.
    pub(crate) fn kind(&self) -> Option<FileKind> {
        FileKind::of(&self.head)
    }

    /// Returns how much of the picture was in the chunks so far. Pictures are never shorter than
    /// [`FAMILY`] bytes. The end of a picture whose structure is not known is that of the response.
    pub(crate) fn extent(&self) -> Extent {
        match &self.scanner {
            Some(scanner) => scanner.extent(),
            None if self.head.len() >= FAMILY && self.kind().is_some() => Extent::Open,
            None => Extent::Partial,
        }
    }
}

fn format_of(kind: FileKind) -> Option<Box<dyn Format + Send>> {
    Some(match kind {
        FileKind::Jpeg => Box::new(jpeg::Jpeg::default()),
        FileKind::Png => Box::new(png::Png::default()),
        FileKind::Webp => Box::new(webp::Webp),
        FileKind::Mp4 => Box::new(iso::Iso::default()),
        FileKind::Webm => Box::new(ebml::Ebml::default()),
        FileKind::Gif | FileKind::Avif | FileKind::Heif => return None,
    })
}
