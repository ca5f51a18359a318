//! Reads the short fields that a format needs, across chunk boundaries, and skips the bytes in
//! between.

use super::Extent;

/// The longest field that a format reads at once.
const LONGEST_FIELD: usize = 16;

/// The next bytes that a format needs, after `skip` bytes that do not matter.
#[derive(Debug)]
pub(super) enum Next {
    /// Read a field of `length` bytes, at least one. `extent` applies from the end of the skipped
    /// bytes until the field has arrived.
    Read { skip: u64, length: usize, extent: Extent },
    /// Skip up to and including the next byte with this value, then read a field of `length` bytes.
    Find { skip: u64, byte: u8, length: usize },
    /// Nothing: the rest does not matter.
    End { skip: u64, extent: Extent },
}

impl Next {
    /// Reads a field in the middle of the picture.
    pub(super) fn read(skip: u64, length: usize) -> Self {
        Self::Read { skip, length, extent: Extent::Partial }
    }

    pub(super) fn end(extent: Extent) -> Self {
        Self::End { skip: 0, extent }
    }
}

/// The structure of a file format.
pub(super) trait Format {
    fn start(&self) -> Next;

    /// Takes the field that the previous step requested, and returns the next step.
    fn step(&mut self, field: &[u8]) -> Next;
}

/// Feeds bytes to a format.
pub(super) struct Scanner {
    format: Box<dyn Format + Send>,
    next: Next,
    field: [u8; LONGEST_FIELD],
    filled: usize,
}

impl Scanner {
    pub(super) fn new(format: Box<dyn Format + Send>) -> Self {
        Self { next: format.start(), format, field: [0; LONGEST_FIELD], filled: 0 }
    }

    pub(super) fn feed(&mut self, mut chunk: &[u8]) {
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
                    let missing = *length - self.filled;
                    let (taken, rest) = chunk.split_at(missing.min(chunk.len()));
                    let room = self.field.iter_mut().skip(self.filled);
                    room.zip(taken).for_each(|(room, byte)| *room = *byte);
                    if taken.len() < missing {
                        self.filled += taken.len();
                        return;
                    }
                    chunk = rest;
                    self.filled = 0;
                    let field = self.field.get(..*length).unwrap_or(&self.field);
                    self.next = self.format.step(field);
                }
            }
        }
    }

    pub(super) fn extent(&self) -> Extent {
        match self.next {
            Next::Read { skip: 0, extent, .. } | Next::End { skip: 0, extent } => extent,
            _ => Extent::Partial,
        }
    }
}
