//! Pictures as PNG files in escape sequences: the protocols of kitty and iTerm2.

use base64::{Engine, prelude::BASE64_STANDARD};
use image::{
    DynamicImage,
    codecs::png::{CompressionType, FilterType, PngEncoder},
};

/// kitty accepts at most this many characters in one sequence.
const CHUNK: usize = 4096;

/// See <https://sw.kovidgoyal.net/kitty/graphics-protocol/>.
pub fn kitty(image: &DynamicImage, cell: (u32, u32)) -> Result<Vec<u8>, String> {
    let data = png(image)?;
    let columns = image.width().div_ceil(cell.0);
    let mut sequences = Vec::new();
    let mut chunks = data.as_bytes().chunks(CHUNK).peekable();
    // `q=2` suppresses responses, which nobody would read.
    let mut head = format!("a=T,f=100,q=2,c={columns},");
    while let Some(chunk) = chunks.next() {
        let more = u8::from(chunks.peek().is_some());
        sequences.extend_from_slice(format!("\x1b_G{head}m={more};").as_bytes());
        sequences.extend_from_slice(chunk);
        sequences.extend_from_slice(b"\x1b\\");
        head.clear();
    }
    sequences.push(b'\n');
    Ok(sequences)
}

/// See <https://iterm2.com/documentation-images.html>.
pub fn iterm2(image: &DynamicImage, cell: (u32, u32)) -> Result<Vec<u8>, String> {
    let data = png(image)?;
    let bytes = data.len() / 4 * 3 - data.bytes().rev().take_while(|byte| *byte == b'=').count();
    let (columns, rows) = (image.width().div_ceil(cell.0), image.height().div_ceil(cell.1));
    let head = format!("inline=1;size={bytes};width={columns};height={rows}");
    Ok(format!("\x1b]1337;File={head};preserveAspectRatio=1:{data}\x07\n").into_bytes())
}

/// The picture as a PNG in base64.
fn png(image: &DynamicImage) -> Result<String, String> {
    let mut png = Vec::new();
    let encoder =
        PngEncoder::new_with_quality(&mut png, CompressionType::Fast, FilterType::Adaptive);
    image.write_with_encoder(encoder).map_err(|error| error.to_string())?;
    Ok(BASE64_STANDARD.encode(png))
}
