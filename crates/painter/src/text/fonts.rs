//! Fonts of other scripts, which are only decompressed when they are needed.

use std::{io::Read as _, sync::LazyLock};

use ab_glyph::FontRef;
use flate2::read::GzDecoder;

const HAN: &[u8] = include_bytes!("fonts/han.ttf.gz");
const HANGUL: &[u8] = include_bytes!("fonts/hangul.ttf.gz");
const ARABIC: &[u8] = include_bytes!("fonts/arabic.ttf.gz");

/// Chinese characters and kana, Hangul, and Arabic and Hebrew.
pub(super) static WORLD: LazyLock<Vec<FontRef<'static>>> = LazyLock::new(|| {
    let files = [&HAN_FILE, &HANGUL_FILE, &ARABIC_FILE];
    files.into_iter().filter_map(|file| FontRef::try_from_slice(file).ok()).collect()
});

static HAN_FILE: LazyLock<Vec<u8>> = LazyLock::new(|| decompressed(HAN));
static HANGUL_FILE: LazyLock<Vec<u8>> = LazyLock::new(|| decompressed(HANGUL));
static ARABIC_FILE: LazyLock<Vec<u8>> = LazyLock::new(|| decompressed(ARABIC));

/// For shaping: Arabic letters change their shapes with their neighbours.
#[cfg(feature = "shaping")]
pub(super) static SHAPED: LazyLock<Option<harfrust::Font>> =
    LazyLock::new(|| harfrust::Font::new(ARABIC_FILE.clone(), 0));

/// The same font, for drawing.
#[cfg(feature = "shaping")]
pub(super) fn arabic() -> Option<&'static FontRef<'static>> {
    WORLD.last()
}

/// A test rules out that a file is damaged.
fn decompressed(file: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = GzDecoder::new(file).read_to_end(&mut bytes);
    bytes
}
