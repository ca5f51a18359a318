//! ISO base media files (MP4, QuickTime, AVIF, HEIF): boxes with a size, a four-letter type and
//! contents.
//!
//! The format has no end marker. A file is complete if `ftyp` and the boxes that a player needs
//! are. A box of a known type after those belongs to the file and must be complete, too. Anything
//! else after them, including fewer bytes than a box header, is trailing data.

use super::{
    Extent,
    scan::{Format, Step},
};

/// The length of a box header: size and type.
const HEAD: usize = 8;
/// The length of the 64-bit size that follows a size of 1.
const LARGE_SIZE: usize = 8;
/// The length of the version and flags of `meta`, before its boxes.
const META_FLAGS: u64 = 4;

type BoxType = [u8; 4];

/// The box types at the top level of a file.
const TOP_LEVEL: &[&BoxType] = &[
    b"ftyp", b"styp", b"pdin", b"moov", b"moof", b"mfra", b"mdat", b"imda", b"meta", b"meco",
    b"free", b"skip", b"wide", b"uuid", b"udta", b"sidx", b"ssix", b"prft", b"emsg", b"pnot",
];

pub(super) struct Iso {
    is_image: bool,
    place: Place,
    /// Which boxes have started.
    ftyp: bool,
    moov: bool,
    moof: bool,
    mdat: bool,
    meta: bool,
    /// Image data in `meta`, which may replace `mdat`.
    idat: bool,
}

enum Place {
    Start,
    Head,
    LargeSize(BoxType),
    /// At the header of a box in `meta`, with the number of bytes left in `meta`, including the
    /// header.
    Meta {
        left: u64,
    },
}

impl Iso {
    pub(super) fn image() -> Self {
        Self { is_image: true, ..Self::video() }
    }

    pub(super) fn video() -> Self {
        Self {
            is_image: false,
            place: Place::Start,
            ftyp: false,
            moov: false,
            moof: false,
            mdat: false,
            meta: false,
            idat: false,
        }
    }
}

impl Format for Iso {
    fn step(&mut self, field: &[u8]) -> Step {
        if matches!(self.place, Place::Start) {
            self.place = Place::Head;
            return Step::read(HEAD);
        }
        let Some((first, second)) = field.split_first_chunk::<4>() else { return Step::damaged() };
        let Ok(second) = BoxType::try_from(second) else { return Step::damaged() };
        let size = u32::from_be_bytes(*first);
        match self.place {
            Place::LargeSize(kind) => {
                let size = u64::from(size) << 32 | u64::from(u32::from_be_bytes(second));
                self.known_size(kind, size.checked_sub((HEAD + LARGE_SIZE) as u64))
            }
            Place::Meta { left } => self.inside_meta(second, size, left),
            Place::Start | Place::Head => self.head(second, size),
        }
    }
}

impl Iso {
    fn head(&mut self, kind: BoxType, size: u32) -> Step {
        if self.is_whole() && !TOP_LEVEL.contains(&&kind) {
            return Step::End(self.extent());
        }
        match size {
            // The box extends to the end of the file.
            0 => {
                self.begin(kind);
                Step::End(if self.is_whole() { Extent::Open } else { Extent::Partial })
            }
            1 => {
                self.place = Place::LargeSize(kind);
                Step::read(LARGE_SIZE)
            }
            size => self.known_size(kind, u64::from(size).checked_sub(HEAD as u64)),
        }
    }

    /// Handles a box with this many bytes of contents. `None` means that its size is smaller than
    /// its header.
    fn known_size(&mut self, kind: BoxType, contents: Option<u64>) -> Step {
        let Some(contents) = contents else { return Step::damaged() };
        self.begin(kind);
        match contents.checked_sub(META_FLAGS) {
            Some(left) if self.is_image && &kind == b"meta" && left >= HEAD as u64 => {
                self.place = Place::Meta { left };
                Step::skip(META_FLAGS, HEAD)
            }
            _ => self.next_box(contents),
        }
    }

    fn inside_meta(&mut self, kind: BoxType, size: u32, left: u64) -> Step {
        self.idat |= &kind == b"idat";
        match left.checked_sub(size.into()) {
            Some(rest) if size >= HEAD as u32 && rest >= HEAD as u64 => {
                self.place = Place::Meta { left: rest };
                Step::skip(u64::from(size) - HEAD as u64, HEAD)
            }
            // The last box, or one with an invalid size.
            _ => self.next_box(left - HEAD as u64),
        }
    }

    /// Continues with the header of the box after `skip` bytes.
    fn next_box(&mut self, skip: u64) -> Step {
        self.place = Place::Head;
        Step::Read { skip, length: HEAD, extent: self.extent() }
    }

    fn begin(&mut self, kind: BoxType) {
        match &kind {
            b"ftyp" => self.ftyp = true,
            b"moov" => self.moov = true,
            b"meta" => self.meta = true,
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
        let index = self.moov || self.moof || (self.is_image && self.meta);
        match self.ftyp && index {
            // Another fragment may follow.
            true if self.mdat && self.moof => Extent::Open,
            true if self.mdat => Extent::Complete,
            true if self.is_image && self.meta && self.idat => Extent::Open,
            _ => Extent::Partial,
        }
    }
}
