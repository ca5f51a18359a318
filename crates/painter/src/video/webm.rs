//! The container: frames with timestamps (RFC 9559 and its subset WebM), in EBML (RFC 8794).

use super::Milliseconds;

pub(super) const EBML: Id = 0x1a45_dfa3;
const EBML_VERSION: Id = 0x4286;
const EBML_READ_VERSION: Id = 0x42f7;
const EBML_MAX_ID_LENGTH: Id = 0x42f2;
const EBML_MAX_SIZE_LENGTH: Id = 0x42f3;
const DOC_TYPE: Id = 0x4282;
const DOC_TYPE_VERSION: Id = 0x4287;
const DOC_TYPE_READ_VERSION: Id = 0x4285;

pub(super) const SEGMENT: Id = 0x1853_8067;

pub(super) const INFO: Id = 0x1549_a966;
pub(super) const TIMESTAMP_SCALE: Id = 0x002a_d7b1;
const DURATION: Id = 0x4489;
const MUXING_APP: Id = 0x4d80;
const WRITING_APP: Id = 0x5741;

pub(super) const TRACKS: Id = 0x1654_ae6b;
pub(super) const TRACK_ENTRY: Id = 0xae;
pub(super) const TRACK_NUMBER: Id = 0xd7;
const TRACK_UID: Id = 0x73c5;
const TRACK_TYPE: Id = 0x83;
const FLAG_LACING: Id = 0x9c;
pub(super) const CODEC_ID: Id = 0x86;
const VIDEO: Id = 0xe0;
const PIXEL_WIDTH: Id = 0xb0;
const PIXEL_HEIGHT: Id = 0xba;

pub(super) const CLUSTER: Id = 0x1f43_b675;
pub(super) const TIMESTAMP: Id = 0xe7;
pub(super) const SIMPLE_BLOCK: Id = 0xa3;
pub(super) const BLOCK_GROUP: Id = 0xa0;
pub(super) const BLOCK: Id = 0xa1;
pub(super) const BLOCK_DURATION: Id = 0x9b;

const PICTURES: u8 = 1;

const APP: &str = concat!("imagekiln-simulator ", env!("CARGO_PKG_VERSION"));

/// The file: VP8 key frames, each with the time from which it is shown.
pub(super) fn file(
    size: (u32, u32),
    end: Milliseconds,
    frames: &[(Milliseconds, Vec<u8>)],
) -> Vec<u8> {
    let starts = frames.iter().map(|(time, _)| *time);
    let ends = starts.clone().skip(1).chain([end]);
    let spans = starts.zip(ends);
    let clusters = frames.iter().zip(spans).map(|((_, frame), span)| cluster(span, frame));
    let content = [info(end), tracks(size)].into_iter().chain(clusters);
    [ebml_head(), master(SEGMENT, &content.collect::<Vec<_>>())].concat()
}

fn ebml_head() -> Vec<u8> {
    let head = [
        unsigned(EBML_VERSION, 1),
        unsigned(EBML_READ_VERSION, 1),
        unsigned(EBML_MAX_ID_LENGTH, 4),
        unsigned(EBML_MAX_SIZE_LENGTH, 8),
        element(DOC_TYPE, "webm"),
        unsigned(DOC_TYPE_VERSION, 4),
        unsigned(DOC_TYPE_READ_VERSION, 2),
    ];
    master(EBML, &head)
}

/// Timestamps are in milliseconds, as WebM recommends.
fn info(end: Milliseconds) -> Vec<u8> {
    let info = [
        unsigned(TIMESTAMP_SCALE, 1_000_000),
        element(DURATION, f64::from(end).to_be_bytes()),
        element(MUXING_APP, APP),
        element(WRITING_APP, APP),
    ];
    master(INFO, &info)
}

fn tracks((width, height): (u32, u32)) -> Vec<u8> {
    let size = [unsigned(PIXEL_WIDTH, width.into()), unsigned(PIXEL_HEIGHT, height.into())];
    let pictures = [
        unsigned(TRACK_NUMBER, PICTURES.into()),
        unsigned(TRACK_UID, PICTURES.into()),
        unsigned(TRACK_TYPE, 1),
        unsigned(FLAG_LACING, 0),
        element(CODEC_ID, "V_VP8"),
        master(VIDEO, &size),
    ];
    master(TRACKS, &[master(TRACK_ENTRY, &pictures)])
}

/// A frame with the times from and until which it is shown.
fn cluster((start, end): (Milliseconds, Milliseconds), frame: &[u8]) -> Vec<u8> {
    // The number of the track, the time within the cluster, and no flags.
    let block = [&[0x80 | PICTURES, 0, 0, 0], frame].concat();
    let group = [element(BLOCK, block), unsigned(BLOCK_DURATION, (end - start).into())];
    master(CLUSTER, &[unsigned(TIMESTAMP, start.into()), master(BLOCK_GROUP, &group)])
}

/// The id of an element, as in the file.
pub(super) type Id = u32;

/// An element. The size always takes eight bytes, so that the length of an element is known before
/// it is written.
fn element(id: Id, content: impl AsRef<[u8]>) -> Vec<u8> {
    let content = content.as_ref();
    let size = (content.len() as u64 | 1 << 56).to_be_bytes();
    id.to_be_bytes()
        .into_iter()
        .skip_while(|byte| *byte == 0)
        .chain(size)
        .chain(content.iter().copied())
        .collect()
}

/// An element with child elements.
fn master(id: Id, children: &[Vec<u8>]) -> Vec<u8> {
    element(id, children.concat())
}

/// An unsigned integer, in eight bytes.
fn unsigned(id: Id, number: u64) -> Vec<u8> {
    element(id, number.to_be_bytes())
}
