//! The container: frames and sound with timestamps (RFC 9559 and its subset WebM).

use super::{
    ebml::{Id, element, float, master, text, unsigned},
    sound,
};

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
const DEFAULT_DURATION: Id = 0x0023_e383;
pub(super) const CODEC_ID: Id = 0x86;
const CODEC_PRIVATE: Id = 0x63a2;
const CODEC_DELAY: Id = 0x56aa;
const SEEK_PRE_ROLL: Id = 0x56bb;
const VIDEO: Id = 0xe0;
const PIXEL_WIDTH: Id = 0xb0;
const PIXEL_HEIGHT: Id = 0xba;
const AUDIO: Id = 0xe1;
const SAMPLING_FREQUENCY: Id = 0xb5;
const CHANNELS: Id = 0x9f;

const CUES: Id = 0x1c53_bb6b;
const CUE_POINT: Id = 0xbb;
const CUE_TIME: Id = 0xb3;
const CUE_TRACK_POSITIONS: Id = 0xb7;
const CUE_TRACK: Id = 0xf7;
const CUE_CLUSTER_POSITION: Id = 0xf1;

pub(super) const CLUSTER: Id = 0x1f43_b675;
pub(super) const TIMESTAMP: Id = 0xe7;
pub(super) const SIMPLE_BLOCK: Id = 0xa3;
pub(super) const BLOCK_GROUP: Id = 0xa0;
pub(super) const BLOCK: Id = 0xa1;

const PICTURES: u8 = 1;
const SOUND: u8 = 2;

const NANOSECONDS: u64 = 1_000_000_000;
const APP: &str = concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION"));

/// The frames of a video.
pub(super) struct Film {
    pub(super) width: u32,
    pub(super) height: u32,
    /// Frames per second.
    pub(super) fps: u32,
    /// The VP8 frames of each second, of which the first is a key frame.
    pub(super) seconds: Vec<Vec<Vec<u8>>>,
}

/// The file: the frames, with a tick at the start of each second.
pub(super) fn file(film: &Film) -> Vec<u8> {
    let clusters: Vec<_> = (0..)
        .zip(&film.seconds)
        .map(|(second, frames)| cluster(second, frames, film.fps))
        .collect();
    let head = [info(film), tracks(film)].concat();
    // The index comes first, for players that do not seek to the end. Its length does not depend on
    // the positions in it.
    let mut position = head.len() + cues(&vec![0; clusters.len()]).len();
    let mut positions = Vec::new();
    for cluster in &clusters {
        positions.push(position);
        position += cluster.len();
    }
    let segment = [head, cues(&positions), clusters.concat()];
    [ebml_head(), master(SEGMENT, &segment)].concat()
}

fn ebml_head() -> Vec<u8> {
    let head = [
        unsigned(EBML_VERSION, 1),
        unsigned(EBML_READ_VERSION, 1),
        unsigned(EBML_MAX_ID_LENGTH, 4),
        unsigned(EBML_MAX_SIZE_LENGTH, 8),
        text(DOC_TYPE, "webm"),
        unsigned(DOC_TYPE_VERSION, 4),
        unsigned(DOC_TYPE_READ_VERSION, 2),
    ];
    master(EBML, &head)
}

/// Timestamps are in milliseconds, as WebM recommends.
fn info(film: &Film) -> Vec<u8> {
    let info = [
        unsigned(TIMESTAMP_SCALE, 1_000_000),
        float(DURATION, film.seconds.len() as f64 * 1000.0),
        text(MUXING_APP, APP),
        text(WRITING_APP, APP),
    ];
    master(INFO, &info)
}

fn tracks(film: &Film) -> Vec<u8> {
    let size =
        [unsigned(PIXEL_WIDTH, film.width.into()), unsigned(PIXEL_HEIGHT, film.height.into())];
    let pictures = [
        unsigned(TRACK_NUMBER, PICTURES.into()),
        unsigned(TRACK_UID, PICTURES.into()),
        unsigned(TRACK_TYPE, 1),
        unsigned(FLAG_LACING, 0),
        unsigned(DEFAULT_DURATION, NANOSECONDS / u64::from(film.fps.max(1))),
        text(CODEC_ID, "V_VP8"),
        master(VIDEO, &size),
    ];
    let delay = u64::from(sound::PRE_SKIP) * NANOSECONDS / u64::from(sound::SAMPLE_RATE);
    let sampling = [float(SAMPLING_FREQUENCY, sound::SAMPLE_RATE.into()), unsigned(CHANNELS, 1)];
    let sound = [
        unsigned(TRACK_NUMBER, SOUND.into()),
        unsigned(TRACK_UID, SOUND.into()),
        unsigned(TRACK_TYPE, 2),
        unsigned(FLAG_LACING, 0),
        text(CODEC_ID, "A_OPUS"),
        element(CODEC_PRIVATE, &sound::head()),
        unsigned(CODEC_DELAY, delay),
        unsigned(SEEK_PRE_ROLL, sound::SEEK_PRE_ROLL_NANOSECONDS),
        master(AUDIO, &sampling),
    ];
    master(TRACKS, &[master(TRACK_ENTRY, &pictures), master(TRACK_ENTRY, &sound)])
}

/// The index: the position of each second in the segment.
fn cues(positions: &[usize]) -> Vec<u8> {
    let points: Vec<_> = (0..)
        .zip(positions)
        .map(|(second, position)| {
            let place = [
                unsigned(CUE_TRACK, PICTURES.into()),
                unsigned(CUE_CLUSTER_POSITION, *position as u64),
            ];
            let point = [unsigned(CUE_TIME, second * 1000), master(CUE_TRACK_POSITIONS, &place)];
            master(CUE_POINT, &point)
        })
        .collect();
    master(CUES, &points)
}

/// A second of the video.
fn cluster(second: u64, frames: &[Vec<u8>], fps: u32) -> Vec<u8> {
    let fps = fps.max(1);
    let pictures = (0..).zip(frames).map(|(number, frame)| {
        let milliseconds = (number * 1000 + fps / 2) / fps;
        let is_whole = frame.first().is_some_and(|byte| byte & 1 == 0);
        (milliseconds, block(PICTURES, milliseconds, is_whole, frame))
    });
    let sound = (0..sound::PACKETS).map(|number| {
        let milliseconds = number * sound::PACKET_MILLISECONDS;
        (milliseconds, block(SOUND, milliseconds, true, sound::packet(number)))
    });
    let mut blocks: Vec<_> = pictures.chain(sound).collect();
    blocks.sort_by_key(|(milliseconds, _)| *milliseconds);
    let blocks = blocks.into_iter().map(|(_, block)| block);
    let content: Vec<_> =
        std::iter::once(unsigned(TIMESTAMP, second * 1000)).chain(blocks).collect();
    master(CLUSTER, &content)
}

/// A frame or packet, with its time within the cluster, which is less than a second.
fn block(track: u8, milliseconds: u32, is_whole: bool, content: &[u8]) -> Vec<u8> {
    const WHOLE: u8 = 0x80;
    let [high, low] = (milliseconds as u16).to_be_bytes();
    let head = [0x80 | track, high, low, if is_whole { WHOLE } else { 0 }];
    element(SIMPLE_BLOCK, &[&head, content].concat())
}
