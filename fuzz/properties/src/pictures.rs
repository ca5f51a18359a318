//! Pictures: how much of one has arrived, and what decoders say.

use imagekiln::{
    FileKind,
    fuzzing::{Extent, extent},
};

/// The largest picture that is decoded, in pixels.
const MAX_PIXELS: u64 = 64 * 1024;

/// The extent does not depend on how the bytes arrive. A picture that is complete stays so with
/// trailing bytes, and none of its parts before its end is whole.
pub fn picture(data: &[u8]) {
    let (whole, kind) = extent(&[data]);
    assert_eq!(kind, FileKind::of(data));
    assert!(kind.is_some() || whole == Extent::Partial, "{whole:?}");
    let pieces: Vec<_> = data.chunks(3).collect();
    assert_eq!(extent(&pieces).0, whole, "the chunks matter");
    if whole == Extent::Complete {
        assert_eq!(extent(&[data, b"\n\0\xff\xd9IEND"]).0, Extent::Complete, "trailing bytes");
        let end = end(data);
        let truncated = (0..end).map(|length| extent(&[&data[..length]]).0);
        // An open end is not reached: the response would have to end there.
        let is_short = |extent| matches!(extent, Extent::Partial | Extent::Open);
        assert!(truncated.into_iter().all(is_short), "a part is whole");
    }
    if whole == Extent::Damaged {
        assert_eq!(extent(&[data, data]).0, Extent::Damaged, "damage does not heal");
    }
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

/// What a decoder decodes is whole. If a part of it is complete, a decoder decodes it, too.
pub fn decoded_picture(data: &[u8]) {
    use imagekiln_simulator::fuzzing::image;
    let Ok(size) = image(data, MAX_PIXELS) else { return };
    assert!(size.0 > 0 && size.1 > 0, "{size:?}");
    let (whole, kind) = extent(&[data]);
    assert_eq!(whole, Extent::Complete, "{kind:?} of {size:?}");
    let cut = usize::from(*data.last().unwrap_or(&0)) * data.len() / 256;
    for cut in [cut, end(data)] {
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
