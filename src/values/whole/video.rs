//! The structures of videos: MP4 and WebM.

use super::{Extent, Format, Next};

/// The length of a box header: size and type.
const BOX_HEAD: usize = 8;
/// The length of the 64-bit size that follows a size of 1.
const LARGE_SIZE: usize = 8;

type BoxType = [u8; 4];

/// The box types at the top level of a file.
const TOP_LEVEL: &[&BoxType] = &[
    b"ftyp", b"styp", b"pdin", b"moov", b"moof", b"mfra", b"mdat", b"imda", b"meta", b"meco",
    b"free", b"skip", b"wide", b"uuid", b"udta", b"sidx", b"ssix", b"prft", b"emsg", b"pnot",
];

/// ISO base media files (MP4, QuickTime): boxes with a size, a four-letter type and contents.
///
/// The format has no end marker. A file is complete once its `ftyp` box and the boxes that a player
/// needs are complete. If a box of a known type follows them, it belongs to the file and must also
/// be complete. Anything else that follows them, including fewer bytes than a box header, is
/// trailing data.
#[derive(Default)]
pub(super) struct Iso {
    /// The type of the box whose 64-bit size is the next field.
    large: Option<BoxType>,
    /// Which boxes have started.
    ftyp: bool,
    moov: bool,
    moof: bool,
    mdat: bool,
}

impl Format for Iso {
    fn start(&self) -> Next {
        Next::read(0, BOX_HEAD)
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
                self.known_size(kind, size.checked_sub((BOX_HEAD + LARGE_SIZE) as u64))
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
            size => self.known_size(kind, u64::from(size).checked_sub(BOX_HEAD as u64)),
        }
    }

    /// Handles a box with this many bytes of contents. `None` means that the size of the box is
    /// smaller than its header, so the file is damaged.
    fn known_size(&mut self, kind: BoxType, contents: Option<u64>) -> Next {
        let Some(skip) = contents else { return Next::end(Extent::Damaged) };
        self.begin(kind);
        Next::Read { skip, length: BOX_HEAD, extent: self.extent() }
    }

    fn begin(&mut self, kind: BoxType) {
        match &kind {
            b"ftyp" => self.ftyp = true,
            b"moov" => self.moov = true,
            b"mdat" => self.mdat = true,
            // Each fragment needs a data box of its own.
            b"moof" => (self.moof, self.mdat) = (true, false),
            _ => {}
        }
    }

    /// Whether the file may be complete once the current box has ended.
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

const HEADER: u32 = 0x1a45_dfa3;
const SEGMENT: u32 = 0x1853_8067;
const CLUSTER: u32 = 0x1f43_b675;
const VOID: u32 = 0xec;
const CHECKSUM: u32 = 0xbf;

/// Elements in a segment: seek head, info, tracks, cluster, cues, attachments, chapters, tags.
const IN_SEGMENT: &[u32] = &[
    0x114d_9b74,
    0x1549_a966,
    0x1654_ae6b,
    CLUSTER,
    0x1c53_bb6b,
    0x1941_a469,
    0x1043_a770,
    0x1254_c367,
    VOID,
    CHECKSUM,
];
/// Elements in a cluster: timestamp, silent tracks, position, previous size, simple block, block
/// group, encrypted block.
const IN_CLUSTER: &[u32] = &[0xe7, 0x5854, 0xa7, 0xab, 0xa3, 0xa0, 0xaf, VOID, CHECKSUM];

/// WebM and Matroska: a sequence of EBML elements, each with an id, a size and contents. A header
/// is followed by one segment.
///
/// If the size of the segment is known, the file ends with the segment. If it is unknown, as in
/// live recordings, the checker follows the elements in the segment one by one. The segment can end
/// after any element once it contains a cluster.
#[derive(Default)]
pub(super) struct Ebml {
    level: Level,
    /// The id of the element whose size is the next field.
    id: Option<u32>,
    /// The first byte of the id or of the size, if the rest of the number is the next field.
    first: Option<u8>,
    has_cluster: bool,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Level {
    #[default]
    Document,
    /// In a segment of unknown size.
    Segment,
    /// In or after a cluster of unknown size, in a segment of unknown size. The cluster ends at the
    /// first element that cannot be in a cluster.
    Cluster,
}

impl Format for Ebml {
    fn start(&self) -> Next {
        self.element_after(0)
    }

    fn step(&mut self, field: &[u8]) -> Next {
        let (first, rest) = match (self.first.take(), field) {
            (Some(first), rest) => (first, rest),
            (None, [first, rest @ ..]) => (*first, rest),
            (None, []) => return Next::end(Extent::Damaged),
        };
        // The number of leading zero bits in the first byte is the number of bytes that follow it.
        let following = first.leading_zeros() as usize;
        match self.id {
            None if following > 3 => self.unknown(),
            Some(_) if following > 7 => Next::end(Extent::Damaged),
            id if following > rest.len() => {
                self.first = Some(first);
                let extent = if id.is_some() { Extent::Partial } else { self.extent() };
                Next::Read { skip: 0, length: following, extent }
            }
            None => self.known_id(joined(first.into(), rest) as u32),
            Some(id) => {
                self.id = None;
                self.known_size(id, first, rest)
            }
        }
    }
}

/// Returns the big-endian number whose most significant part is `first` and whose other bytes are
/// `rest`.
fn joined(first: u64, rest: &[u8]) -> u64 {
    rest.iter().fold(first, |number, byte| number << 8 | u64::from(*byte))
}

impl Ebml {
    fn known_id(&mut self, id: u32) -> Next {
        let in_segment = IN_SEGMENT.contains(&id);
        let known = match self.level {
            Level::Document => matches!(id, HEADER | SEGMENT | VOID | CHECKSUM),
            Level::Segment => in_segment,
            Level::Cluster => in_segment || IN_CLUSTER.contains(&id),
        };
        if !known {
            return self.unknown();
        }
        self.id = Some(id);
        Next::read(0, 1)
    }

    /// Handles bytes that are not a known element. If the segment can have ended, they are trailing
    /// data. Otherwise, the file is damaged.
    fn unknown(&self) -> Next {
        Next::end(if self.has_cluster { Extent::Open } else { Extent::Damaged })
    }

    fn known_size(&mut self, id: u32, first: u8, rest: &[u8]) -> Next {
        // The size consists of the bits after the first one bit. If all of them are set, the size
        // is unknown.
        let mask = u8::MAX.checked_shr(first.leading_zeros() + 1).unwrap_or(0);
        let is_unknown = first & mask == mask && rest.iter().all(|byte| *byte == u8::MAX);
        let size = joined((first & mask).into(), rest);
        match (id, is_unknown) {
            (SEGMENT, false) if size == 0 => Next::end(Extent::Damaged),
            (SEGMENT, false) => Next::End { skip: size, extent: Extent::Complete },
            (SEGMENT, true) => {
                self.level = Level::Segment;
                self.element_after(0)
            }
            (CLUSTER, true) => {
                self.level = Level::Cluster;
                // The cluster cannot be empty.
                Next::read(0, 1)
            }
            (_, true) => Next::end(Extent::Damaged),
            (_, false) => {
                self.has_cluster |= id == CLUSTER || self.level == Level::Cluster;
                self.element_after(size)
            }
        }
    }

    fn element_after(&self, skip: u64) -> Next {
        Next::Read { skip, length: 1, extent: self.extent() }
    }

    fn extent(&self) -> Extent {
        if self.has_cluster { Extent::Open } else { Extent::Partial }
    }
}
