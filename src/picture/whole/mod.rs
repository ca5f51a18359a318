//! Whether a picture has arrived to its end, judged by the structure of its format.
//!
//! A [`Checker`] is fed the bytes as they arrive, in chunks of any size, and keeps some dozens of
//! them. It follows lengths and markers; it decodes nothing, and checksums are not verified.

mod ebml;
mod gif;
mod iso;
mod jpeg;
mod png;
mod scan;
#[cfg(test)]
mod tests;
mod webp;

use scan::{Format, Scanner};

use crate::{FileKind, values::file_kind::HEAD};

/// How many of the first bytes tell the family of formats, and so which structure to follow.
const FAMILY: usize = 12;

/// How much of a picture has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// Its end has not arrived.
    Partial,
    /// It can end here, but the format lets more follow: only the end of the response says that
    /// nothing does.
    Open,
    /// Its end has arrived; what follows does not belong to it.
    Complete,
    /// Its structure is damaged, so its end can't be found.
    Damaged,
}

/// Follows the structure of a picture of any kind.
#[derive(Default)]
pub(super) struct Checker {
    head: Vec<u8>,
    scanner: Option<Scanner>,
}

impl Checker {
    pub(super) fn feed(&mut self, chunk: &[u8]) {
        let known = self.head.len();
        self.head.extend(chunk.iter().take(HEAD - known));
        if known < FAMILY && self.head.len() >= FAMILY {
            self.scanner =
                FileKind::of(&self.head[..FAMILY]).map(|kind| Scanner::new(format_of(kind)));
            if let Some(scanner) = &mut self.scanner {
                scanner.feed(&self.head[..known]);
            }
        }
        if let Some(scanner) = &mut self.scanner {
            scanner.feed(chunk);
        }
    }

    /// The kind of file by its first bytes.
    pub(super) fn kind(&self) -> Option<FileKind> {
        FileKind::of(&self.head)
    }

    /// How much of the picture was in the chunks so far. No picture fits into fewer than [`FAMILY`]
    /// bytes.
    pub(super) fn extent(&self) -> Extent {
        self.scanner.as_ref().map_or(Extent::Partial, Scanner::extent)
    }
}

fn format_of(kind: FileKind) -> Box<dyn Format + Send> {
    match kind {
        FileKind::Jpeg => Box::new(jpeg::Jpeg::default()),
        FileKind::Png => Box::new(png::Png::default()),
        FileKind::Gif => Box::new(gif::Gif::default()),
        FileKind::Webp => Box::new(webp::Webp::default()),
        FileKind::Avif | FileKind::Heif => Box::new(iso::Iso::image()),
        FileKind::Mp4 => Box::new(iso::Iso::video()),
        FileKind::Webm => Box::new(ebml::Ebml::default()),
    }
}
