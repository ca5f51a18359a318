//! ISO base media files (MP4, QuickTime): boxes with a size, a four-letter type and contents.
//!
//! The format has no end marker. A file is complete if `ftyp` and the boxes that a player needs
//! are. A box of a known type after those belongs to the file and must be complete, too. Anything
//! else after them, including fewer bytes than a box header, is trailing data.

use super::{
    Extent,
    scan::{Format, Next},
};

/// The length of a box header: size and type.
const HEAD: usize = 8;
/// The length of the 64-bit size that follows a size of 1.
const LARGE_SIZE: usize = 8;

type BoxType = [u8; 4];

/// The box types at the top level of a file.
const TOP_LEVEL: &[&BoxType] = &[
    b"ftyp", b"styp", b"pdin", b"moov", b"moof", b"mfra", b"mdat", b"imda", b"meta", b"meco",
    b"free", b"skip", b"wide", b"uuid", b"udta", b"sidx", b"ssix", b"prft", b"emsg", b"pnot",
];

#[derive(Default)]
pub(super) struct Iso {
    /// The type of the box whose 64-bit size is read.
    large: Option<BoxType>,
    /// Which boxes have started.
    ftyp: bool,
    moov: bool,
    moof: bool,
    mdat: bool,
}

impl Format for Iso {
    fn start(&self) -> Next {
        Next::read(0, HEAD)
    }

    fn step(&mut self, field: &[u8]) -> Next {
        let halves = field.split_first_chunk::<4>();
        let Some((first, Ok(second))) = halves.map(|(a, b)| (a, BoxType::try_from(b))) else {
            return Next::end(Extent::Damaged);
        };
        let size = u32::from_be_bytes(*first);
        match self.large.take() {
            Some(kind) => {
                let size = u64::from(size) << 32 | u64::from(u32::from_be_bytes(second));
                self.known_size(kind, size.checked_sub((HEAD + LARGE_SIZE) as u64))
            }
            None => self.head(second, size),
        }
    }
}

impl Iso {
    fn head(&mut self, kind: BoxType, size: u32) -> Next {
        if self.is_whole() && !TOP_LEVEL.contains(&&kind) {
            return Next::end(self.extent());
        }
        match size {
            // The box extends to the end of the file.
            0 => {
                self.begin(kind);
                Next::end(if self.is_whole() { Extent::Open } else { Extent::Partial })
            }
            1 => {
                self.large = Some(kind);
                Next::read(0, LARGE_SIZE)
            }
            size => self.known_size(kind, u64::from(size).checked_sub(HEAD as u64)),
        }
    }

    /// Handles a box with this many bytes of contents. `None` means that its size is smaller than
    /// its header.
    fn known_size(&mut self, kind: BoxType, contents: Option<u64>) -> Next {
        let Some(skip) = contents else { return Next::end(Extent::Damaged) };
        self.begin(kind);
        Next::Read { skip, length: HEAD, extent: self.extent() }
    }

    fn begin(&mut self, kind: BoxType) {
        match &kind {
            b"ftyp" => self.ftyp = true,
            b"moov" => self.moov = true,
            b"mdat" => self.mdat = true,
            // Each fragment has its own data.
            b"moof" => (self.moof, self.mdat) = (true, false),
            _ => {}
        }
    }

    /// Whether the file is complete once the current box has ended.
    fn is_whole(&self) -> bool {
        self.extent() != Extent::Partial
    }

    fn extent(&self) -> Extent {
        match self.ftyp && self.mdat {
            // Another fragment may follow.
            true if self.moof => Extent::Open,
            true if self.moov => Extent::Complete,
            _ => Extent::Partial,
        }
    }
}
