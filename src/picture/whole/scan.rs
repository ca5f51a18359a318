//! Reads the short fields that matter to a format, wherever chunks are split, and skips the bytes
//! in between.

use super::Extent;

/// The longest field that a format reads at once.
const LONGEST_FIELD: usize = 16;

/// What a format needs next.
#[derive(Debug)]
pub(super) enum Step {
    /// Skip so many bytes, then read a field of `length` bytes. `extent` holds from the end of the
    /// skipped bytes until the field has arrived.
    Read { skip: u64, length: usize, extent: Extent },
    /// Skip until after the next byte of this value, then read a field of `length` bytes.
    Find { byte: u8, length: usize },
    /// Nothing that follows matters.
    End(Extent),
}

impl Step {
    /// Reads a field in the middle of the picture.
    pub(super) fn read(length: usize) -> Self {
        Self::skip(0, length)
    }

    pub(super) fn skip(skip: u64, length: usize) -> Self {
        Self::Read { skip, length, extent: Extent::Partial }
    }

    pub(super) fn damaged() -> Self {
        Self::End(Extent::Damaged)
    }
}

/// The structure of one format of files.
pub(super) trait Format {
    /// Takes the field that the last step asked for and says what to do next. The first call comes
    /// with an empty field.
    ///
    /// A step that neither skips nor reads anything must not follow another one, or scanning would
    /// not end.
    fn step(&mut self, field: &[u8]) -> Step;
}

/// Feeds a format.
pub(super) struct Scanner {
    format: Box<dyn Format + Send>,
    next: Step,
    field: [u8; LONGEST_FIELD],
    filled: usize,
}

impl Scanner {
    pub(super) fn new(mut format: Box<dyn Format + Send>) -> Self {
        let next = format.step(&[]);
        Self { format, next, field: [0; LONGEST_FIELD], filled: 0 }
    }

    pub(super) fn feed(&mut self, mut chunk: &[u8]) {
        loop {
            match &mut self.next {
                Step::End(_) => return,
                Step::Find { byte, length } => {
                    let Some(at) = chunk.iter().position(|candidate| candidate == byte) else {
                        return;
                    };
                    chunk = &chunk[at + 1..];
                    self.next = Step::read(*length);
                }
                Step::Read { skip, length, .. } => {
                    let skipped = chunk.len().min(usize::try_from(*skip).unwrap_or(usize::MAX));
                    chunk = &chunk[skipped..];
                    *skip -= skipped as u64;
                    if *skip > 0 {
                        return;
                    }
                    let missing = *length - self.filled;
                    let (taken, rest) = chunk.split_at(missing.min(chunk.len()));
                    self.field[self.filled..][..taken.len()].copy_from_slice(taken);
                    if taken.len() < missing {
                        self.filled += taken.len();
                        return;
                    }
                    chunk = rest;
                    self.filled = 0;
                    self.next = self.format.step(&self.field[..*length]);
                }
            }
        }
    }

    pub(super) fn extent(&self) -> Extent {
        match self.next {
            Step::Read { skip: 0, extent, .. } | Step::End(extent) => extent,
            Step::Read { .. } | Step::Find { .. } => Extent::Partial,
        }
    }
}
