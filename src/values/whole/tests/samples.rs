//! Small files of every format whose structure is checked. An encoder creates them, or this module
//! assembles their bytes if the tests have no encoder for them.

use image::{ImageFormat, RgbImage};

use super::Extent;
use crate::FileKind;

#[derive(Debug, Clone)]
pub struct Sample {
    pub name: &'static str,
    pub bytes: Vec<u8>,
    pub kind: FileKind,
    /// The extent after all bytes.
    pub extent: Extent,
    /// The length of the shortest prefix that is not partial.
    pub end: usize,
}

pub fn samples() -> Vec<Sample> {
    use Extent::{Complete, Open};
    use FileKind::{Jpeg, Mp4, Png, Webm, Webp};

    let encoded = |format| {
        let mut bytes = std::io::Cursor::new(Vec::new());
        let pixel = |x, y| image::Rgb([(x * 31) as u8, (y * 17) as u8, (x * y) as u8]);
        RgbImage::from_fn(24, 16, pixel).write_to(&mut bytes, format).unwrap();
        bytes.into_inner()
    };
    let (ftyp, moov, mdat) =
        (ftyp(b"isom"), iso_box(b"moov", &[7; 40]), iso_box(b"mdat", &[0; 90]));
    let (moof, free) = (iso_box(b"moof", &[1; 20]), iso_box(b"free", &[2; 12]));
    let mdat_to_the_end = [b"\0\0\0\0mdat", &[9; 30][..]].concat();
    let fragments = [&ftyp[..], &moov, &moof, &mdat, &moof, &mdat].concat();
    let first_fragment = ftyp.len() + moov.len() + moof.len() + mdat.len();
    let streamed =
        [&ebml_header()[..], &SEGMENT, &UNKNOWN_SIZE, &info(), &cluster(), &cluster()].concat();
    let live =
        [&ebml_header()[..], &SEGMENT, &UNKNOWN_SIZE, &info(), &open_cluster(), &open_cluster()]
            .concat();
    let before_clusters = streamed.len() - 2 * cluster().len();

    let sample =
        |name, kind, extent, bytes: Vec<u8>| Sample { name, end: bytes.len(), bytes, kind, extent };
    vec![
        sample("PNG", Png, Complete, encoded(ImageFormat::Png)),
        sample("JPEG", Jpeg, Complete, encoded(ImageFormat::Jpeg)),
        sample("progressive JPEG", Jpeg, Complete, progressive_jpeg()),
        sample("WebP", Webp, Complete, encoded(ImageFormat::WebP)),
        sample("MP4", Mp4, Complete, [&ftyp[..], &moov, &mdat].concat()),
        sample(
            "MP4, index at the end",
            Mp4,
            Complete,
            [&ftyp[..], &free, &large_mdat(), &moov].concat(),
        ),
        Sample {
            end: ftyp.len() + moov.len() + mdat.len(),
            ..sample(
                "MP4, free space at the end",
                Mp4,
                Complete,
                [&ftyp[..], &moov, &mdat, &free].concat(),
            )
        },
        Sample {
            end: ftyp.len() + moov.len() + 8,
            ..sample(
                "MP4, data to the end",
                Mp4,
                Open,
                [&ftyp[..], &moov, &mdat_to_the_end].concat(),
            )
        },
        Sample { end: first_fragment, ..sample("fragmented MP4", Mp4, Open, fragments) },
        sample("WebM", Webm, Complete, webm()),
        Sample {
            end: before_clusters + cluster().len(),
            ..sample("WebM, segment of unknown size", Webm, Open, streamed)
        },
        Sample {
            // After the timestamp of the cluster.
            end: before_clusters + 15,
            ..sample("WebM, clusters of unknown size", Webm, Open, live)
        },
    ]
}

/// A JPEG file with two scans that contain restarts, stuffed bytes and fill bytes, and a thumbnail
/// with its own end marker.
pub fn progressive_jpeg() -> Vec<u8> {
    let segment = |code: u8, contents: &[u8]| {
        let length = u16::try_from(contents.len() + 2).unwrap().to_be_bytes();
        [&[0xff, code], &length[..], contents].concat()
    };
    let thumbnail = b"Exif\0\0\xff\xd8\xff\xdb\0\x02\xff\xda\0\x02\x01\xff\xd9";
    [
        b"\xff\xd8".to_vec(),
        segment(0xe1, thumbnail),
        segment(0xdb, &[16; 65]),
        b"\xff\xff\xff".to_vec(),
        segment(0xc2, &[8, 0, 16, 0, 16, 1, 1, 0x11, 0]),
        segment(0xc4, &[0; 17]),
        segment(0xda, &[1, 1, 0, 0, 0, 0x10]),
        b"\x12\xff\0\x34\xff\xd0\x56\xff\xd7\xff\0\xff\xff\0\x78".to_vec(),
        segment(0xc4, &[1; 17]),
        segment(0xda, &[1, 1, 0, 1, 63, 0x10]),
        b"\x9a\xff\0\xd9\xff\xff\xd9".to_vec(),
    ]
    .concat()
}

pub fn iso_box(kind: &[u8; 4], contents: &[u8]) -> Vec<u8> {
    let size = u32::try_from(contents.len() + 8).unwrap().to_be_bytes();
    [&size, &kind[..], contents].concat()
}

pub fn ftyp(brand: &[u8; 4]) -> Vec<u8> {
    iso_box(b"ftyp", &[&brand[..], b"\0\0\x02\0", brand, b"mp41"].concat())
}

/// An `mdat` box with a 64-bit size.
fn large_mdat() -> Vec<u8> {
    let contents = [6; 33];
    let size = (16 + contents.len() as u64).to_be_bytes();
    [b"\0\0\0\x01mdat", &size[..], &contents].concat()
}

pub const SEGMENT: [u8; 4] = [0x18, 0x53, 0x80, 0x67];
const UNKNOWN_SIZE: [u8; 8] = [0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];

pub fn ebml_header() -> Vec<u8> {
    b"\x1a\x45\xdf\xa3\x87\x42\x82\x84webm".to_vec()
}

fn info() -> Vec<u8> {
    b"\x15\x49\xa9\x66\x40\x07\x2a\xd7\xb1\x83\x0f\x42\x40".to_vec()
}

fn cluster() -> Vec<u8> {
    [b"\x1f\x43\xb6\x75\x9a\xe7\x81\0\xa3\x95".to_vec(), vec![0x81; 21]].concat()
}

/// A cluster of unknown size: a timestamp, a block and a void element.
fn open_cluster() -> Vec<u8> {
    [
        &[0x1f, 0x43, 0xb6, 0x75][..],
        &UNKNOWN_SIZE,
        &[0xe7, 0x81, 0, 0xa3, 0x84, 0x81, 0, 0, 0x80],
        &[0xec, 0x80],
    ]
    .concat()
}

fn webm() -> Vec<u8> {
    let contents = [info(), cluster(), cluster()].concat();
    [&ebml_header()[..], &SEGMENT, &[0x40, contents.len() as u8], &contents].concat()
}
