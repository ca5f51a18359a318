//! Tests of specific formats.

use super::{
    Extent, extent_of,
    samples::{SEGMENT, ebml_header, ftyp, iso_box, progressive_jpeg, samples},
};

fn sample(name: &str) -> Vec<u8> {
    samples().into_iter().find(|sample| sample.name == name).unwrap().bytes
}

/// Replaces the first occurrence of `from`.
fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let at = bytes.windows(from.len()).position(|window| window == from).unwrap();
    [&bytes[..at], to, &bytes[at + from.len()..]].concat()
}

#[test]
fn damaged_structures_are_detected() {
    let png = sample("PNG");
    for (name, bytes) in [
        ("no IHDR", replaced(&png, b"IHDR", b"IDAT")),
        ("a second IHDR", replaced(&png, b"IDAT", b"IHDR")),
        ("no data", replaced(&png, b"IDAT", b"tEXt")),
        ("a type that is not letters", [&png[..33], b"\0\0\0\0a1bc\0\0\0\0", &png[33..]].concat()),
        ("a length beyond 31 bits", replaced(&png, b"\0\0\0\0IEND", b"\xff\xff\xff\xffIEND")),
        ("a JPEG without a scan", b"\xff\xd8\xff\xe0\0\x06abcd\xff\xff\xd9".to_vec()),
        ("a second start of image", replaced(&progressive_jpeg(), b"\x9a", b"\xff\xd8")),
        (
            "a segment shorter than its length",
            replaced(&progressive_jpeg(), b"\xff\xdb\0\x43", b"\xff\xdb\0\x01"),
        ),
        ("a WebP of no length", b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0".to_vec()),
        ("a box smaller than its head", [&ftyp(b"isom")[..], b"\0\0\0\x07moov\0\0\0\0"].concat()),
        (
            "a box smaller than its large head",
            [&ftyp(b"isom")[..], b"\0\0\0\x01moov\0\0\0\0\0\0\0\x0f"].concat(),
        ),
        ("a segment of no size", [&ebml_header()[..], &SEGMENT, b"\x80"].concat()),
        ("a document without a segment", [&ebml_header()[..], b"\x42\x82\x80"].concat()),
    ] {
        assert_eq!(extent_of([&bytes[..]]), Extent::Damaged, "{name}");
    }
}

#[test]
fn huge_sizes_are_partial() {
    for (name, bytes) in [
        ("a WebP of 4 GiB", b"RIFF\xff\xff\xff\xffWEBPVP8 ".to_vec()),
        (
            "a box of 16 EiB",
            [&ftyp(b"isom")[..], b"\0\0\0\x01mdat\xff\xff\xff\xff\xff\xff\xff\xff"].concat(),
        ),
        ("a box of 4 GiB", [&ftyp(b"isom")[..], b"\0\0\0\x01mdat\0\0\0\x01\0\0\0\0"].concat()),
        ("an ftyp of 4 GiB", b"\xff\xff\xff\xffftypisom\0\0\0\0".to_vec()),
        ("an index to the end", [&ftyp(b"isom")[..], b"\0\0\0\0moov"].concat()),
        (
            "a segment of 2^56 - 2 bytes",
            [&ebml_header()[..], &SEGMENT, b"\x01\xff\xff\xff\xff\xff\xff\xfe"].concat(),
        ),
    ] {
        let bytes = [&bytes[..], &[b'x'; 100]].concat();
        assert_eq!(extent_of([&bytes[..]]), Extent::Partial, "{name}");
    }
}

#[test]
fn a_partial_box_of_a_known_type_at_the_end_is_partial() {
    for (name, rest) in [("MP4", "moov"), ("MP4", "free"), ("fragmented MP4", "moof")] {
        let rest = iso_box(rest.as_bytes().try_into().unwrap(), &[0; 20]);
        let (whole, cut) = (sample(name), &rest[..20]);
        assert_eq!(extent_of([&whole[..], cut]), Extent::Partial, "{name}");
    }
}

#[test]
fn a_fragment_without_its_data_is_partial() {
    let moof = iso_box(b"moof", &[1; 20]);
    assert_eq!(extent_of([&sample("fragmented MP4")[..], &moof]), Extent::Partial);
}

/// The structures of these formats are not checked, so a picture may end wherever the response
/// ends.
#[test]
fn other_formats_may_end_anywhere() {
    for head in [&b"GIF89a\x01\0\x01\0\0\0"[..], &ftyp(b"avif"), &ftyp(b"heic")] {
        assert_eq!(extent_of([head]), Extent::Open, "{}", head.escape_ascii());
        assert_eq!(extent_of([&head[..11]]), Extent::Partial);
    }
}

#[test]
fn an_image_index_does_not_complete_a_video() {
    let bytes = [ftyp(b"isom"), iso_box(b"meta", &[0; 30]), iso_box(b"mdat", &[0; 30])].concat();
    assert_eq!(extent_of([&bytes[..]]), Extent::Partial);
}

#[test]
fn a_truncated_element_in_a_segment_of_unknown_size_is_partial() {
    for name in ["WebM, segment of unknown size", "WebM, clusters of unknown size"] {
        let bytes = sample(name);
        for cut in [
            b"\x1c\x53\xbb\x6b".as_slice(),
            b"\x1c\x53\xbb\x6b\x40",
            b"\xec\x85abc",
            b"\x1f\x43\xb6\x75\xff",
        ] {
            assert_eq!(extent_of([&bytes[..], cut]), Extent::Partial, "{name}, {cut:?}");
        }
        let cues = b"\x1c\x53\xbb\x6b\x83abc";
        assert_eq!(extent_of([&bytes[..], cues]), Extent::Open, "{name}");
    }
}

#[test]
fn pictures_of_the_simulator_are_complete() {
    let png = include_bytes!("../../../../docs/fox.png");
    assert_eq!(extent_of(png.chunks(1000)), Extent::Complete);
    assert_eq!(extent_of([&png[..png.len() - 1]]), Extent::Partial);
}
