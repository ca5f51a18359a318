use std::fmt;

/// How many bytes at the start, and at the end, tell a kind of file and whether it is whole.
pub(crate) const HEAD: usize = 16;
pub(crate) const TAIL: usize = 12;

/// The kind of file that a picture came as, told by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileKind {
    /// A JPEG image.
    Jpeg,
    /// A PNG image.
    Png,
    /// A WebP image.
    Webp,
    /// An MP4 video, or another of the ISO base media family.
    Mp4,
    /// A WebM or Matroska video.
    Webm,
    /// A GIF, which may be animated.
    Gif,
}

impl FileKind {
    pub(crate) fn of(head: &[u8]) -> Option<Self> {
        match head {
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Self::Png),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::Webp),
            [_, _, _, _, b'f', b't', b'y', b'p', ..] => Some(Self::Mp4),
            [0x1a, 0x45, 0xdf, 0xa3, ..] => Some(Self::Webm),
            [b'G', b'I', b'F', b'8', ..] => Some(Self::Gif),
            _ => None,
        }
    }

    /// Whether the end is there, as far as the format tells. Videos do not.
    pub(crate) fn is_whole(self, head: &[u8], tail: &[u8], length: u64) -> bool {
        match self {
            Self::Jpeg => tail.ends_with(&[0xff, 0xd9]),
            Self::Png => tail.ends_with(&[b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82]),
            Self::Webp => match head {
                [_, _, _, _, a, b, c, d, ..] => length >= u64::from(u32::from_le_bytes([*a, *b, *c, *d])) + 8,
                _ => false,
            },
            Self::Gif => tail.ends_with(&[0x3b]),
            Self::Mp4 | Self::Webm => true,
        }
    }

    /// The usual ending of such a file's name.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Jpeg => "jpg",
            Self::Png => "png",
            Self::Webp => "webp",
            Self::Mp4 => "mp4",
            Self::Webm => "webm",
            Self::Gif => "gif",
        }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Jpeg => "JPEG",
            Self::Png => "PNG",
            Self::Webp => "WebP",
            Self::Mp4 => "MP4",
            Self::Webm => "WebM",
            Self::Gif => "GIF",
        })
    }
}
