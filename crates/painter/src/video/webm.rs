//! The container: frames with timestamps (RFC 9559 and its subset WebM), in EBML (RFC 8794).
//!
//! The reader of a given file finds its key frames (VP8, RFC 6386). It follows no length beyond the
//! end of the file, and reserves no memory that a length only announces.

use super::Milliseconds;
use crate::images::{self, Inline};

const EBML: Id = 0x1a45_dfa3;
const EBML_VERSION: Id = 0x4286;
const EBML_READ_VERSION: Id = 0x42f7;
const EBML_MAX_ID_LENGTH: Id = 0x42f2;
const EBML_MAX_SIZE_LENGTH: Id = 0x42f3;
const DOC_TYPE: Id = 0x4282;
const DOC_TYPE_VERSION: Id = 0x4287;
const DOC_TYPE_READ_VERSION: Id = 0x4285;

const SEGMENT: Id = 0x1853_8067;

const INFO: Id = 0x1549_a966;
const TIMESTAMP_SCALE: Id = 0x002a_d7b1;
const DURATION: Id = 0x4489;
const MUXING_APP: Id = 0x4d80;
const WRITING_APP: Id = 0x5741;

const TRACKS: Id = 0x1654_ae6b;
const TRACK_ENTRY: Id = 0xae;
const TRACK_NUMBER: Id = 0xd7;
const TRACK_UID: Id = 0x73c5;
const TRACK_TYPE: Id = 0x83;
const FLAG_LACING: Id = 0x9c;
const CODEC_ID: Id = 0x86;
const VIDEO: Id = 0xe0;
const PIXEL_WIDTH: Id = 0xb0;
const PIXEL_HEIGHT: Id = 0xba;

const CLUSTER: Id = 0x1f43_b675;
const TIMESTAMP: Id = 0xe7;
const SIMPLE_BLOCK: Id = 0xa3;
const BLOCK_GROUP: Id = 0xa0;
const BLOCK: Id = 0xa1;
const BLOCK_DURATION: Id = 0x9b;

const PICTURES: u8 = 1;

const APP: &str = concat!("imagekiln-simulator ", env!("CARGO_PKG_VERSION"));

/// A VP8 key frame, with the time from which it is shown.
pub(super) type Frame = (Milliseconds, Vec<u8>);

/// The file. Timestamps are in milliseconds, as WebM recommends.
pub(super) fn file((width, height): (u32, u32), end: Milliseconds, frames: &[Frame]) -> Vec<u8> {
    let head = [
        unsigned(EBML_VERSION, 1),
        unsigned(EBML_READ_VERSION, 1),
        unsigned(EBML_MAX_ID_LENGTH, 4),
        unsigned(EBML_MAX_SIZE_LENGTH, 8),
        element(DOC_TYPE, "webm"),
        unsigned(DOC_TYPE_VERSION, 4),
        unsigned(DOC_TYPE_READ_VERSION, 2),
    ];
    let info = [
        unsigned(TIMESTAMP_SCALE, DEFAULT_SCALE),
        element(DURATION, f64::from(end).to_be_bytes()),
        element(MUXING_APP, APP),
        element(WRITING_APP, APP),
    ];
    let size = [unsigned(PIXEL_WIDTH, width.into()), unsigned(PIXEL_HEIGHT, height.into())];
    let track = [
        unsigned(TRACK_NUMBER, PICTURES.into()),
        unsigned(TRACK_UID, PICTURES.into()),
        unsigned(TRACK_TYPE, 1),
        unsigned(FLAG_LACING, 0),
        element(CODEC_ID, "V_VP8"),
        master(VIDEO, &size),
    ];
    let ends = frames.iter().map(|(start, _)| *start).skip(1).chain([end]);
    let clusters = frames.iter().zip(ends).map(|(frame, end)| cluster(frame, end));
    let tracks = master(TRACKS, &[master(TRACK_ENTRY, &track)]);
    let content: Vec<_> = [master(INFO, &info), tracks].into_iter().chain(clusters).collect();
    [master(EBML, &head), master(SEGMENT, &content)].concat()
}

/// A frame, which is shown until `end`.
fn cluster((start, frame): &Frame, end: Milliseconds) -> Vec<u8> {
    // The number of the track, the time within the cluster, and no flags.
    let block = [&[0x80 | PICTURES, 0, 0, 0], frame.as_slice()].concat();
    let group = [element(BLOCK, block), unsigned(BLOCK_DURATION, (end - start).into())];
    master(CLUSTER, &[unsigned(TIMESTAMP, (*start).into()), master(BLOCK_GROUP, &group)])
}

/// The id of an element, as in the file.
type Id = u32;

/// An element. The size always takes eight bytes, so that the length of an element is known before
/// it is written.
fn element(id: Id, content: impl AsRef<[u8]>) -> Vec<u8> {
    let content = content.as_ref();
    let size = (content.len() as u64 | 1 << 56).to_be_bytes();
    let id = id.to_be_bytes().into_iter().skip_while(|byte| *byte == 0);
    id.chain(size).chain(content.iter().copied()).collect()
}

/// An element with child elements.
fn master(id: Id, children: &[Vec<u8>]) -> Vec<u8> {
    element(id, children.concat())
}

/// An unsigned integer, in eight bytes.
fn unsigned(id: Id, number: u64) -> Vec<u8> {
    element(id, number.to_be_bytes())
}

const NANOSECONDS: f64 = 1e9;

/// Timestamps are in milliseconds unless the file says otherwise.
const DEFAULT_SCALE: u64 = 1_000_000;

/// The maximum number of frames to use. Those of a longer video are thinned out evenly.
const MAX_FRAMES: usize = 16;

/// A video that was given in a request.
pub struct Clip {
    /// The decoded key frames with their times in seconds, in order.
    pub frames: Vec<(f32, Inline)>,
    /// The time until which the last block is shown, in seconds; if the file does not say how long,
    /// the time at which it starts.
    pub duration: f32,
}

/// Reads a video. `max_pixels` is the maximum area of a frame.
pub fn clip(file: &[u8], max_pixels: u64) -> Result<Clip, String> {
    let mut elements = Element::all(file);
    elements.next().filter(|head| head.id == EBML).ok_or("the data is not a WebM file")?;
    let segment = elements.find(|element| element.id == SEGMENT);
    let segment = segment.ok_or("the WebM file has no content")?;
    let scale = segment.child(INFO).and_then(|info| info.child(TIMESTAMP_SCALE));
    let scale = scale.map_or(DEFAULT_SCALE, |scale| scale.unsigned());
    let mut tracks = segment.child(TRACKS).into_iter().flat_map(|all| all.children(TRACK_ENTRY));
    let track = tracks.find_map(|track| {
        track.child(CODEC_ID).filter(|codec| codec.content == b"V_VP8")?;
        Some(track.child(TRACK_NUMBER)?.unsigned())
    });
    let track = track.ok_or("the WebM file has no VP8 track")?;
    let blocks = || segment.children(CLUSTER).flat_map(blocks);
    let is_shown = |block: &Block<'_>| block.track == track && block.is_key_frame;
    let shown = blocks().filter(is_shown).map(|block| (block.start, block.frame));
    let shown: Vec<_> = shown.collect();
    let seconds = |ticks: i64| ticks.max(0) as f64 * scale as f64 / NANOSECONDS;
    let step = shown.len().div_ceil(MAX_FRAMES).max(1);
    let frames = shown.iter().step_by(step).map(|(start, frame)| {
        let image = images::decode(as_webp(frame), max_pixels)?;
        Ok((seconds(*start) as f32, image))
    });
    let frames = frames.collect::<Result<Vec<_>, String>>()?;
    if frames.is_empty() {
        return Err("the VP8 track has no key frame".to_owned());
    }
    let end = blocks().map(|block| block.end).max().unwrap_or(0);
    Ok(Clip { frames, duration: seconds(end) as f32 })
}

/// A frame of a track, with its times in ticks.
struct Block<'a> {
    track: u64,
    start: i64,
    end: i64,
    /// Whether the frame depends on no other.
    is_key_frame: bool,
    frame: &'a [u8],
}

/// The blocks of a cluster.
fn blocks<'a>(cluster: Element<'a>) -> impl Iterator<Item = Block<'a>> {
    const LACING: u8 = 0b0110;
    let signed = |field: Element<'_>| i64::try_from(field.unsigned()).unwrap_or(i64::MAX);
    let base = cluster.child(TIMESTAMP).map_or(0, signed);
    Element::all(cluster.content).filter_map(move |element| {
        let (block, shown) = match element.id {
            SIMPLE_BLOCK => (element.content, 0),
            BLOCK_GROUP => {
                let shown = element.child(BLOCK_DURATION).map_or(0, signed);
                (element.child(BLOCK)?.content, shown)
            }
            _ => return None,
        };
        // The number of its track, its time within the cluster, and flags.
        let (track, rest) = number(block, true)?;
        let [high, low, flags, frame @ ..] = rest else { return None };
        let start = base.saturating_add(i16::from_be_bytes([*high, *low]).into());
        let is_key_frame = flags & LACING == 0 && frame.first().is_some_and(|byte| byte & 1 == 0);
        Some(Block { track, start, end: start.saturating_add(shown), is_key_frame, frame })
    })
}

#[derive(Clone, Copy)]
struct Element<'a> {
    id: Id,
    content: &'a [u8],
}

impl<'a> Element<'a> {
    /// The elements at the start of `bytes`, up to one that is not an element. The last may be cut
    /// short.
    fn all(mut bytes: &'a [u8]) -> impl Iterator<Item = Self> {
        std::iter::from_fn(move || {
            let (id, rest) = number(bytes, false)?;
            let (size, rest) = number(rest, true)?;
            let size = usize::try_from(size).unwrap_or(usize::MAX).min(rest.len());
            let (content, rest) = rest.split_at(size);
            let id = Id::try_from(id).ok()?;
            bytes = rest;
            Some(Self { id, content })
        })
    }

    fn children(self, id: Id) -> impl Iterator<Item = Self> {
        Self::all(self.content).filter(move |child| child.id == id)
    }

    fn child(self, id: Id) -> Option<Self> {
        self.children(id).next()
    }

    fn unsigned(&self) -> u64 {
        self.content.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

/// A number whose length is in its first byte. The marker of the length belongs to an id, but not
/// to a size; a size of only ones is unknown, and counts as the largest.
fn number(bytes: &[u8], is_size: bool) -> Option<(u64, &[u8])> {
    let length = bytes.first()?.leading_zeros() as usize + 1;
    let (digits, rest) = bytes.split_at_checked(length).filter(|_| length <= 8)?;
    let all = digits.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
    if !is_size {
        return Some((all, rest));
    }
    let value = all & !(1 << (7 * length));
    let is_unknown = value == (1 << (7 * length)) - 1;
    Some((if is_unknown { u64::MAX } else { value }, rest))
}

/// A WebP file with this VP8 key frame.
fn as_webp(frame: &[u8]) -> Vec<u8> {
    let length = frame.len() as u32;
    let padded = frame.len().next_multiple_of(2);
    let mut file = [&b"RIFF"[..], &(padded as u32 + 12).to_le_bytes(), b"WEBPVP8 "].concat();
    file.extend(length.to_le_bytes());
    file.extend(frame);
    file.resize(20 + padded, 0);
    file
}
