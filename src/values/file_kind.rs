//! Detects the format of a picture.

use std::fmt;

/// The maximum number of bytes at the start of a file that [`FileKind::of`] reads. Enough for the
/// brands of an AVIF or HEIF file.
pub(crate) const HEAD: usize = 64;

/// The file format of a picture, detected from its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileKind {
    /// A JPEG image.
    Jpeg,
    /// A PNG image.
    Png,
    /// A WebP image.
    Webp,
    /// An AVIF image, which may be animated.
    Avif,
    /// A HEIF image, such as HEIC.
    Heif,
    /// An MP4 video, or another video of the ISO base media family, such as QuickTime.
    Mp4,
    /// A WebM or Matroska video.
    Webm,
    /// A GIF image, which may be animated.
    Gif,
}

use FileKind::{Avif, Gif, Heif, Jpeg, Mp4, Png, Webm, Webp};

const ALL: [FileKind; 8] = [Jpeg, Png, Webp, Avif, Heif, Mp4, Webm, Gif];

impl FileKind {
    /// Detects the format from the first bytes of a file. Looks at no more than 64 bytes.
    ///
    /// ```
    /// assert_eq!(imagekiln::FileKind::of(b"GIF89a"), Some(imagekiln::FileKind::Gif));
    /// assert_eq!(imagekiln::FileKind::of(b"<html>"), None);
    /// ```
    pub fn of(head: &[u8]) -> Option<Self> {
        let head = head.get(..HEAD).unwrap_or(head);
        match head {
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Self::Png),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::Webp),
            [_, _, _, _, b'f', b't', b'y', b'p', ..] => Some(Self::of_brands(head)),
            [0x1a, 0x45, 0xdf, 0xa3, ..] => Some(Self::Webm),
            [b'G', b'I', b'F', b'8', ..] => Some(Self::Gif),
            _ => None,
        }
    }

    /// Detects the format of an ISO base media file from its `ftyp` box: size, type, major brand,
    /// version, compatible brands.
    fn of_brands(head: &[u8]) -> Self {
        let size = head.first_chunk().map_or(0, |size| u32::from_be_bytes(*size));
        let ftyp = usize::try_from(size).ok().and_then(|size| head.get(..size)).unwrap_or(head);
        let brands = || ftyp.get(16..).unwrap_or_default().chunks_exact(4);
        match head.get(8..12) {
            Some(b"avif" | b"avis") => Self::Avif,
            Some(major) if is_heif_brand(major) => Self::Heif,
            // A file with one of these major brands may contain either codec. Its compatible brands
            // name the codec.
            Some(b"mif1" | b"msf1" | b"mif2" | b"miaf") => {
                let is_avif = brands().any(|brand| matches!(brand, b"avif" | b"avis"));
                if is_avif { Self::Avif } else { Self::Heif }
            }
            _ => Self::Mp4,
        }
    }

    /// Returns the name, the media type, the usual file extension, and other extensions of the
    /// format.
    fn facts(self) -> (&'static str, &'static str, &'static str, &'static [&'static str]) {
        match self {
            Self::Jpeg => ("JPEG", "image/jpeg", "jpg", &["jpeg", "jpe", "jfif"]),
            Self::Png => ("PNG", "image/png", "png", &[]),
            Self::Webp => ("WebP", "image/webp", "webp", &[]),
            Self::Avif => ("AVIF", "image/avif", "avif", &[]),
            Self::Heif => ("HEIF", "image/heif", "heif", &["heic"]),
            Self::Mp4 => ("MP4", "video/mp4", "mp4", &["m4v", "mov"]),
            Self::Webm => ("WebM", "video/webm", "webm", &["mkv"]),
            Self::Gif => ("GIF", "image/gif", "gif", &[]),
        }
    }

    /// Returns the usual file extension, without the dot.
    pub fn extension(self) -> &'static str {
        self.facts().2
    }

    /// Returns the format that a file extension stands for. The extension may be in upper or lower
    /// case.
    ///
    /// ```
    /// assert_eq!(imagekiln::FileKind::of_extension("JPEG"), Some(imagekiln::FileKind::Jpeg));
    /// assert_eq!(imagekiln::FileKind::of_extension("txt"), None);
    /// ```
    #[doc(hidden)]
    pub fn of_extension(extension: &str) -> Option<Self> {
        ALL.into_iter().find(|kind| {
            let (_, _, usual, others) = kind.facts();
            [&[usual], others].concat().iter().any(|known| known.eq_ignore_ascii_case(extension))
        })
    }

    /// Returns the width and the height of an image in pixels, from the first bytes of its file.
    /// `None` for videos, and if the bytes do not contain the dimensions.
    #[doc(hidden)]
    pub fn pixels(head: &[u8]) -> Option<(usize, usize)> {
        imagesize::blob_size(head).ok().map(|size| (size.width, size.height))
    }

    /// Returns the media type, for example for a `Content-Type` header.
    pub fn media_type(self) -> &'static str {
        self.facts().1
    }
}

fn is_heif_brand(brand: &[u8]) -> bool {
    matches!(brand, b"heic" | b"heix" | b"heim" | b"heis" | b"hevc" | b"hevx" | b"hevm" | b"hevs")
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.facts().0)
    }
}

#[cfg(test)]
mod tests {
    use super::{FileKind, HEAD};

    fn of(brands: &[u8]) -> Option<FileKind> {
        let size = u32::try_from(8 + brands.len()).unwrap().to_be_bytes();
        FileKind::of(&[&size, b"ftyp", brands, b"avifavifavif"].concat())
    }

    #[test]
    fn brands_distinguish_images_from_videos() {
        for (brands, kind) in [
            (b"avif\0\0\0\0mif1miaf".as_slice(), FileKind::Avif),
            (b"avis\0\0\0\0avifmsf1", FileKind::Avif),
            (b"mif1\0\0\0\0miafavif", FileKind::Avif),
            (b"heic\0\0\0\0mif1heic", FileKind::Heif),
            (b"heix\0\0\0\0mif1", FileKind::Heif),
            (b"hevc\0\0\0\0msf1", FileKind::Heif),
            (b"mif1\0\0\0\0heic", FileKind::Heif),
            (b"msf1\0\0\0\0hevc", FileKind::Heif),
            (b"isom\0\0\x02\0isomiso2avc1mp41", FileKind::Mp4),
            (b"mp42\0\0\0\0mp42isom", FileKind::Mp4),
            (b"qt  \0\0\0\0qt  ", FileKind::Mp4),
            (b"isom\0\0\0\0", FileKind::Mp4),
        ] {
            assert_eq!(of(brands), Some(kind), "{}", String::from_utf8_lossy(brands));
        }
    }

    #[test]
    fn a_head_of_any_length_is_accepted() {
        let head = b"\0\0\0\x20ftypmif1\0\0\0\0miafavifmiafmiaf";
        for length in 0..=head.len() {
            let kind = FileKind::of(&head[..length]);
            assert_eq!(kind.is_some(), length >= 8, "{length}");
        }
        for first in [b"\0\0\0\0", b"\0\0\0\x01", b"\xff\xff\xff\xff"] {
            assert!(FileKind::of(&[first, b"ftypmif1".as_slice()].concat()).is_some());
        }
    }

    #[test]
    fn what_follows_the_head_does_not_matter() {
        let mut file = b"\0\0\x01\0ftypmif1".to_vec();
        file.resize(HEAD, 0);
        assert_eq!(FileKind::of(&file), Some(FileKind::Heif));
        file.extend(b"avif");
        assert_eq!(FileKind::of(&file), Some(FileKind::Heif));
    }
}
