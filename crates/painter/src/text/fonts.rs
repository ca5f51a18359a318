//! Fonts of other scripts, which are only decompressed when they are needed.

use std::{io::Read as _, sync::LazyLock};

use ab_glyph::FontRef;
use flate2::read::GzDecoder;

/// Chinese characters and kana, Hangul, and Arabic and Hebrew.
static FILES: LazyLock<[Vec<u8>; 3]> = LazyLock::new(|| {
    let packed: [&[u8]; 3] = [
        include_bytes!("fonts/han.ttf.gz"),
        include_bytes!("fonts/hangul.ttf.gz"),
        include_bytes!("fonts/arabic.ttf.gz"),
    ];
    packed.map(|file| {
        let mut bytes = Vec::new();
        // A test rules out that a file is damaged.
        let _ = GzDecoder::new(file).read_to_end(&mut bytes);
        bytes
    })
});

/// In the order of the files.
pub(super) static WORLD: LazyLock<Vec<FontRef<'static>>> =
    LazyLock::new(|| FILES.iter().filter_map(|file| FontRef::try_from_slice(file).ok()).collect());

/// For shaping: Arabic letters change their shapes with their neighbours.
#[cfg(feature = "shaping")]
pub(super) static SHAPED: LazyLock<Option<harfrust::Font>> =
    LazyLock::new(|| harfrust::Font::new(FILES[2].clone(), 0));
