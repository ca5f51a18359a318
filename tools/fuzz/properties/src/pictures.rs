//! Pictures: how much of one has arrived, and what decoders say.

use crate::{
    FileKind,
    values::whole::{Checker, Extent},
};

/// The largest picture that is decoded, in pixels.
const MAX_PIXELS: u64 = 64 * 1024;

/// How much of a picture has arrived, and its format.
pub fn extent(chunks: &[&[u8]]) -> (Extent, Option<FileKind>) {
    let mut checker = Checker::default();
    chunks.iter().for_each(|chunk| checker.feed(chunk));
    (checker.extent(), checker.kind())
}

/// The extent does not depend on how the bytes arrive. A picture that is complete stays so with
/// trailing bytes, and none of its parts is damaged. In formats with an end, a part that is
/// complete has all of it.
pub fn picture(data: &[u8]) {
    let (whole, kind) = extent(&[data]);
    assert_eq!(kind, FileKind::of(data));
    assert!(kind.is_some() || whole == Extent::Partial, "{whole:?}");
    let pieces: Vec<_> = data.chunks(3).collect();
    assert_eq!(extent(&pieces).0, whole, "the chunks matter");
    if whole == Extent::Complete {
        assert_eq!(extent(&[data, b"\n\0\xff\xd9IEND"]).0, Extent::Complete, "trailing bytes");
        assert_parts(data, kind);
    }
    if whole == Extent::Damaged {
        assert_eq!(extent(&[data, data]).0, Extent::Damaged, "damage does not heal");
    }
}

/// Checks up to 256 parts of a complete picture.
fn assert_parts(data: &[u8], kind: Option<FileKind>) {
    let lengths = (0..data.len()).step_by(data.len() / 256 + 1);
    let parts: Vec<_> = lengths.map(|length| extent(&[&data[..length]]).0).collect();
    assert!(!parts.contains(&Extent::Damaged), "{parts:?}");
    // Another box may follow in an MP4 file, and another element in a WebM file.
    let has_end = !matches!(kind, Some(FileKind::Mp4 | FileKind::Webm));
    let mut after = parts.iter().skip_while(|part| **part != Extent::Complete);
    assert!(!has_end || after.all(|part| *part == Extent::Complete), "{parts:?}");
}

/// The length of the shortest part that is complete.
fn end(data: &[u8]) -> usize {
    let (mut partial, mut complete) = (0, data.len());
    while complete - partial > 1 {
        let middle = partial + (complete - partial) / 2;
        match extent(&[&data[..middle]]).0 {
            Extent::Complete => complete = middle,
            _ => partial = middle,
        }
    }
    complete
}

/// What a decoder decodes is not truncated. If a part of it is complete, a decoder decodes it, too.
pub fn decoded_picture(data: &[u8]) {
    use imagekiln_simulator::fuzzing::image;
    let Ok(size) = image(data, MAX_PIXELS) else { return };
    assert!(size.0 > 0 && size.1 > 0, "{size:?}");
    let (whole, kind) = extent(&[data]);
    // Decoders tolerate damage, such as a second start of a JPEG image.
    assert!(matches!(whole, Extent::Complete | Extent::Damaged), "{kind:?}: {whole:?}");
    let (cut, end) = (usize::from(*data.last().unwrap_or(&0)) * data.len() / 256, end(data));
    // The decoder of WebP does not look at the length of the file in its header.
    if kind == Some(FileKind::Webp) && end < data.len() {
        return;
    }
    for cut in [cut, end] {
        let part = &data[..cut];
        if matches!(extent(&[part]).0, Extent::Complete | Extent::Open) {
            assert_eq!(image(part, MAX_PIXELS), Ok(size), "{cut} of {} bytes", data.len());
        }
    }
}

/// A video that the simulator reads has frames in order within its duration.
pub fn video(data: &[u8]) {
    let Ok((times, duration)) = imagekiln_simulator::fuzzing::video(data, MAX_PIXELS) else {
        return;
    };
    assert!(!times.is_empty() && times.len() <= 16, "{times:?}");
    assert!(duration.is_finite() && times.iter().all(|time| time.is_finite() && *time >= 0.0));
    assert!(extent(&[data]).0 != Extent::Damaged || FileKind::of(data) == Some(FileKind::Webm));
}
