//! WebM and Matroska: EBML elements with an id, a size and contents. A header is followed by one
//! segment.
//!
//! A segment of known size ends the file. In a segment of unknown size, as in live recordings, the
//! elements are followed one by one. It can end after any element once there was a cluster.

use super::{
    Extent,
    scan::{Format, Next},
};

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

#[derive(Default)]
pub(super) struct Ebml {
    level: Level,
    state: EbmlState,
    has_cluster: bool,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Level {
    #[default]
    Document,
    /// In a segment of unknown size.
    Segment,
    /// In such a segment, in or after a cluster of unknown size. The cluster ends at the first
    /// element that cannot be in it.
    Cluster,
}

#[derive(Default, Clone, Copy)]
enum EbmlState {
    #[default]
    Start,
    Id,
    IdRest {
        first: u8,
    },
    Size {
        id: u32,
    },
    SizeRest {
        id: u32,
        first: u8,
    },
    AfterSegment,
}

impl Format for Ebml {
    fn step(&mut self, field: &[u8]) -> Next {
        match (self.state, field) {
            (EbmlState::Start, _) => self.next_element(0),
            (EbmlState::AfterSegment, _) => Next::End(Extent::Complete),
            (EbmlState::Id, [first]) => match first.leading_zeros() {
                0 => self.id((*first).into()),
                more @ 1..4 => {
                    self.state = EbmlState::IdRest { first: *first };
                    Next::Read { skip: 0, length: more as usize, extent: self.extent() }
                }
                _ => self.unknown(),
            },
            (EbmlState::IdRest { first }, rest) => {
                self.id(rest.iter().fold(first.into(), |id, byte| id << 8 | u32::from(*byte)))
            }
            (EbmlState::Size { id }, [first]) => match first.leading_zeros() {
                0 => self.size(id, *first, &[]),
                more @ 1..8 => {
                    self.state = EbmlState::SizeRest { id, first: *first };
                    Next::read(more as usize)
                }
                _ => Next::damaged(),
            },
            (EbmlState::SizeRest { id, first }, rest) => self.size(id, first, rest),
            _ => Next::damaged(),
        }
    }
}

impl Ebml {
    fn id(&mut self, id: u32) -> Next {
        let in_segment = IN_SEGMENT.contains(&id);
        let known = match self.level {
            Level::Document => matches!(id, HEADER | SEGMENT | VOID | CHECKSUM),
            Level::Segment => in_segment,
            Level::Cluster => in_segment || IN_CLUSTER.contains(&id),
        };
        if !known {
            return self.unknown();
        }
        self.state = EbmlState::Size { id };
        Next::read(1)
    }

    /// Handles bytes that are not an element. They are trailing bytes if the segment can have
    /// ended.
    fn unknown(&self) -> Next {
        Next::End(if self.has_cluster { Extent::Open } else { Extent::Damaged })
    }

    fn size(&mut self, id: u32, first: u8, rest: &[u8]) -> Next {
        // The bits after the leading one. If all are set, the size is unknown.
        let mask = u8::MAX.checked_shr(first.leading_zeros() + 1).unwrap_or(0);
        let is_unknown = first & mask == mask && rest.iter().all(|byte| *byte == u8::MAX);
        let size =
            rest.iter().fold(u64::from(first & mask), |size, byte| size << 8 | u64::from(*byte));
        match (id, is_unknown) {
            (SEGMENT, false) if size == 0 => Next::damaged(),
            (SEGMENT, false) => {
                self.state = EbmlState::AfterSegment;
                Next::skip(size, 0)
            }
            (SEGMENT, true) => {
                self.level = Level::Segment;
                self.next_element(0)
            }
            (CLUSTER, true) => {
                self.level = Level::Cluster;
                self.state = EbmlState::Id;
                // The cluster cannot be empty.
                Next::read(1)
            }
            (_, true) => Next::damaged(),
            (_, false) => {
                self.has_cluster |= id == CLUSTER || self.level == Level::Cluster;
                self.next_element(size)
            }
        }
    }

    fn next_element(&mut self, skip: u64) -> Next {
        self.state = EbmlState::Id;
        Next::Read { skip, length: 1, extent: self.extent() }
    }

    fn extent(&self) -> Extent {
        if self.has_cluster { Extent::Open } else { Extent::Partial }
    }
}
