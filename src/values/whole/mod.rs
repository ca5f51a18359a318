//! Checks whether a picture is complete, from the structure of its file format. This works for
//! JPEG, PNG and WebP, which the contract names, and for MP4 and WebM.
//!
//! A [`Checker`] takes the bytes of a file in chunks of any size, and buffers only a few dozen
//! bytes. It follows the lengths and markers in the file. It neither decodes the picture nor
//! verifies checksums.

mod image;
#[cfg(test)]
mod tests;
mod video;

use crate::{FileKind, values::file_kind::HEAD};

/// The number of bytes at the start of a file that identify the family of its format, and therefore
/// the structure to follow.
const FAMILY: usize = 12;

/// How much of a picture has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// The end of the picture has not arrived.
    Partial,
    /// The picture may end here, but its format allows more data to follow. Only the end of the
    /// response shows whether the picture is complete.
    Open,
    /// The end of the picture has arrived. Any bytes after it do not belong to the picture.
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

    /// Returns how much of the picture has arrived so far. A picture is never shorter than
    /// [`FAMILY`] bytes. If the structure of the format is not known, the picture ends where the
    /// response ends.
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
        FileKind::Jpeg => Box::new(image::Jpeg::default()),
        FileKind::Png => Box::new(image::Png::default()),
        FileKind::Webp => Box::new(image::Webp),
        FileKind::Mp4 => Box::new(video::Iso::default()),
        FileKind::Webm => Box::new(video::Ebml::default()),
        FileKind::Gif | FileKind::Avif | FileKind::Heif => return None,
    })
}

/// What a format needs next, after `skip` bytes whose values do not matter.
#[derive(Debug)]
enum Next {
    /// Read a field of `length` bytes, which is at least one. `extent` is the extent of the picture
    /// after the skipped bytes have arrived, until the field is complete.
    Read { skip: u64, length: usize, extent: Extent },
    /// Skip up to and including the next byte with this value, then read a field of `length` bytes.
    Find { skip: u64, byte: u8, length: usize },
    /// Read nothing more. `extent` is the extent of the picture after the skipped bytes have
    /// arrived.
    End { skip: u64, extent: Extent },
}

impl Next {
    /// Reads a field that is not at a possible end of the picture.
    fn read(skip: u64, length: usize) -> Self {
        Self::Read { skip, length, extent: Extent::Partial }
    }

    fn end(extent: Extent) -> Self {
        Self::End { skip: 0, extent }
    }
}

/// The structure of a file format.
trait Format {
    fn start(&self) -> Next;

    /// Takes the field that the previous step requested, and returns what to read next.
    fn step(&mut self, field: &[u8]) -> Next;
}

/// Reads the fields that a format needs, even if a chunk ends within a field, and skips the bytes
/// between the fields.
struct Scanner {
    format: Box<dyn Format + Send>,
    next: Next,
    /// The part of the next field that has arrived.
    field: Vec<u8>,
}

impl Scanner {
    fn new(format: Box<dyn Format + Send>) -> Self {
        Self { next: format.start(), format, field: Vec::new() }
    }

    fn feed(&mut self, mut chunk: &[u8]) {
        loop {
            let (Next::Read { skip, .. } | Next::Find { skip, .. } | Next::End { skip, .. }) =
                &mut self.next;
            let skipped = chunk.len().min(usize::try_from(*skip).unwrap_or(usize::MAX));
            chunk = chunk.get(skipped..).unwrap_or_default();
            *skip -= skipped as u64;
            if *skip > 0 {
                return;
            }
            match &self.next {
                Next::End { .. } => return,
                Next::Find { byte, length, .. } => {
                    let Some(at) = chunk.iter().position(|candidate| candidate == byte) else {
                        return;
                    };
                    chunk = chunk.get(at + 1..).unwrap_or_default();
                    self.next = Next::read(0, *length);
                }
                Next::Read { length, .. } => {
                    let missing = *length - self.field.len();
                    let (taken, rest) = chunk.split_at(missing.min(chunk.len()));
                    self.field.extend_from_slice(taken);
                    if taken.len() < missing {
                        return;
                    }
                    chunk = rest;
                    self.next = self.format.step(&self.field);
                    self.field.clear();
                }
            }
        }
    }

    fn extent(&self) -> Extent {
        match self.next {
            Next::Read { skip: 0, extent, .. } | Next::End { skip: 0, extent } => extent,
            _ => Extent::Partial,
        }
    }
}
