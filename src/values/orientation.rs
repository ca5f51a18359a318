//! Reads the EXIF orientation from the start of an image file. It tells viewers how to rotate or
//! mirror the image before they show it.

/// The tag of the orientation in TIFF and EXIF.
const TAG: u16 = 0x0112;

/// The header of the property of an AVIF or HEIC file that rotates the image anticlockwise.
const IROT: &[u8] = b"\0\0\0\x09irot";

/// Returns the EXIF orientation, from 1 to 8. 1 means that the image is upright or that its
/// orientation is not known. From 5 on, viewers show the stored height as the width.
pub(crate) fn of(head: &[u8]) -> u8 {
    let found = match head {
        [0xff, 0xd8, ..] => jpeg(head),
        [0x89, b'P', b'N', b'G', ..] => chunk(head, 8, b"eXIf", u32::from_be_bytes, 4, 12),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => {
            chunk(head, 12, b"EXIF", u32::from_le_bytes, 0, 8)
        }
        [b'I', b'I', 42, 0, ..] | [b'M', b'M', 0, 42, ..] => tiff(head),
        [_, _, _, _, b'f', b't', b'y', b'p', ..] => turned(head),
        _ => None,
    };
    found.filter(|orientation| (1..=8).contains(orientation)).unwrap_or(1)
}

/// Reads the rotation of an AVIF or HEIC file. If there are several `irot` properties, the last one
/// applies, as in `imagesize`.
fn turned(head: &[u8]) -> Option<u8> {
    let at = head.windows(IROT.len()).rposition(|window| window == IROT)?;
    [1, 8, 3, 6].get(usize::from(head.get(at + IROT.len())? & 3)).copied()
}

/// Searches the segments of a JPEG file for EXIF, up to the start of the image data.
fn jpeg(head: &[u8]) -> Option<u8> {
    let mut rest = head.get(2..)?;
    loop {
        let [0xff, marker, high, low, ..] = *rest else { return None };
        if marker == 0xff {
            rest = rest.get(1..)?;
            continue;
        }
        let length = usize::from(u16::from_be_bytes([high, low]));
        let segment = rest.get(4..2 + length)?;
        match segment.strip_prefix(b"Exif\0\0") {
            Some(exif) if marker == 0xe1 => return tiff(exif),
            _ if marker == 0xda => return None,
            _ => rest = rest.get(2 + length..)?,
        }
    }
}

/// Searches the chunks of a PNG or WebP file for EXIF. In PNG, the name of a chunk follows its
/// length. In WebP, the name comes first, and the data is padded to an even length. `overhead` is
/// the size of a chunk without its data.
fn chunk(
    head: &[u8],
    start: usize,
    name: &[u8; 4],
    length: fn([u8; 4]) -> u32,
    name_at: usize,
    overhead: usize,
) -> Option<u8> {
    let mut rest = head.get(start..)?;
    loop {
        let size = rest.get(4 - name_at..8 - name_at)?.first_chunk().copied().map(length)?;
        let size = usize::try_from(size).ok()?;
        let data = rest.get(8..)?;
        if rest.get(name_at..name_at + 4)? == name {
            return tiff(data.strip_prefix(b"Exif\0\0").unwrap_or(data));
        }
        let padding = if name_at == 0 { size % 2 } else { 0 };
        rest = rest.get(size.checked_add(overhead + padding)?..)?;
    }
}

/// Reads the orientation from the first directory of a TIFF structure, which EXIF also uses.
fn tiff(data: &[u8]) -> Option<u8> {
    let is_little = data.starts_with(b"II");
    let short = |at: usize| {
        let bytes = data.get(at..)?.first_chunk().copied()?;
        Some(if is_little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) })
    };
    let (first, second) = (usize::from(short(4)?), usize::from(short(6)?));
    let directory = if is_little { second << 16 | first } else { first << 16 | second };
    let mut entries = (0..short(directory)?).map(|index| directory + 2 + 12 * usize::from(index));
    let entry = entries.find(|entry| short(*entry) == Some(TAG))?;
    short(entry + 8)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns EXIF data with a resolution and this orientation.
    fn exif(is_little: bool, orientation: u16) -> Vec<u8> {
        let short = |n: u16| if is_little { n.to_le_bytes() } else { n.to_be_bytes() };
        let long = |n: u32| if is_little { n.to_le_bytes() } else { n.to_be_bytes() };
        let mut exif = if is_little { b"II".to_vec() } else { b"MM".to_vec() };
        exif.extend(short(42));
        exif.extend(long(8));
        exif.extend(short(2));
        for (tag, value) in [(0x0100, 640), (TAG, orientation)] {
            exif.extend([short(tag), short(3)].concat());
            exif.extend(long(1));
            exif.extend([short(value), short(0)].concat());
        }
        exif
    }

    fn in_jpeg(exif: &[u8]) -> Vec<u8> {
        let segment = [b"Exif\0\0", exif].concat();
        let length = (segment.len() as u16 + 2).to_be_bytes();
        [b"\xff\xd8\xff\xe0\0\x04JF\xff\xff\xe1", &length[..], &segment].concat()
    }

    fn in_png(exif: &[u8]) -> Vec<u8> {
        let length = (exif.len() as u32).to_be_bytes();
        let header = b"\x89PNG\r\n\x1a\n\0\0\0\x01IHDRx----";
        [header, &length[..], b"eXIf", exif, b"----"].concat()
    }

    fn in_webp(exif: &[u8]) -> Vec<u8> {
        let length = (exif.len() as u32).to_le_bytes();
        [b"RIFF----WEBPVP8X\x01\0\0\0x\0EXIF", &length[..], exif].concat()
    }

    #[test]
    fn each_format_has_its_orientation() {
        for orientation in 1..=8 {
            for is_little in [false, true] {
                let exif = exif(is_little, orientation.into());
                for image in [in_jpeg(&exif), in_png(&exif), in_webp(&exif), exif] {
                    assert_eq!(of(&image), orientation, "{}", image.escape_ascii());
                }
            }
        }
        for (angle, orientation) in [1, 8, 3, 6].into_iter().enumerate() {
            let avif = [b"\0\0\0\x1cftypavif----", IROT, &[angle as u8]].concat();
            assert_eq!(of(&avif), orientation);
        }
    }

    #[test]
    fn everything_else_is_upright() {
        let first = in_jpeg(&exif(true, 6));
        for image in [&in_jpeg(&exif(true, 9)), &in_png(&exif(false, 0)), &first[..first.len() - 6]]
        {
            assert_eq!(of(image), 1);
        }
        // EXIF after the start of the image data belongs to a thumbnail.
        let scan = [b"\xff\xd8\xff\xda\0\x02", &first[2..]].concat();
        assert_eq!(of(&scan), 1);
    }

    proptest! {
        #[test]
        fn damaged_files_do_not_panic(which in 0..3_usize, at: usize, byte: u8, length: usize) {
            let exif = exif(true, 6);
            let mut image = vec![in_jpeg(&exif), in_png(&exif), in_webp(&exif)].swap_remove(which);
            let at = at % image.len();
            image[at] = byte;
            image.truncate(length % (image.len() + 1));
            prop_assert!((1..=8).contains(&of(&image)));
        }
    }
}
