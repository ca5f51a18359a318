//! Pictures as sixels: characters that show six pixels of one colour, one below the other.

use color_quant::NeuQuant;
use image::{
    GrayImage, RgbaImage,
    imageops::{dither, index_colors},
};

/// The number of colours that every terminal with sixels accepts.
const COLOURS: usize = 256;

/// The choice of colours considers all pixels of a small picture, and one in 8 of a large one.
const SAMPLED: usize = 100_000;
const SPARSEST: usize = 8;

/// See <https://vt100.net/docs/vt3xx-gp/chapter14.html>.
pub fn encode(mut image: RgbaImage) -> Vec<u8> {
    let pixels = image.pixels().len();
    let sampling = (pixels / SAMPLED).clamp(1, SPARSEST) as i32;
    let palette = NeuQuant::new(sampling, COLOURS, image.as_raw());
    // Dithering panics on a single column.
    if image.width() > 1 {
        dither(&mut image, &palette);
    }
    let indices = index_colors(&image, &palette);
    let (width, height) = indices.dimensions();
    let mut text = format!("\x1bP0;1q\"1;1;{width};{height}");
    for (index, colour) in palette.color_map_rgb().as_chunks::<3>().0.iter().enumerate() {
        // The levels of a channel are percentages.
        let [red, green, blue] = colour.map(|level| (u32::from(level) * 100 + 127) / 255);
        text += &format!("#{index};2;{red};{green};{blue}");
    }
    for top in (0..height).step_by(6) {
        text += &band(&indices, top);
    }
    (text + "\x1b\\\n").into_bytes()
}

/// Six rows of pixels: for each of their colours, the sixels that have it.
fn band(indices: &GrayImage, top: u32) -> String {
    let width = indices.width() as usize;
    let mut sixels = vec![Vec::new(); COLOURS];
    for row in 0..6.min(indices.height() - top) {
        for x in 0..indices.width() {
            let [index] = indices.get_pixel(x, top + row).0;
            let Some(sixels) = sixels.get_mut(usize::from(index)) else { continue };
            sixels.resize(width, 0_u8);
            sixels.get_mut(x as usize).into_iter().for_each(|sixel| *sixel |= 1 << row);
        }
    }
    let colours = sixels.iter().enumerate().filter(|(_, sixels)| !sixels.is_empty());
    // `$` returns to the start of the band, and `-` starts the next one.
    let lines: Vec<String> =
        colours.map(|(index, sixels)| format!("#{index}{}", repeated(sixels))).collect();
    lines.join("$") + "-"
}

/// Sixels as characters, in which `!5~` stands for `~~~~~`.
fn repeated(sixels: &[u8]) -> String {
    let runs = sixels.chunk_by(|one, next| one == next);
    runs.map(|run| {
        let character = char::from(b'?' + run.first().copied().unwrap_or_default());
        match run.len() {
            length @ 0..=3 => character.to_string().repeat(length),
            length => format!("!{length}{character}"),
        }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use icy_sixel::sixel_decode;
    use image::Rgba;

    use super::*;

    #[test]
    fn equal_sixels_are_counted() {
        assert_eq!(repeated(&[1, 1, 1, 63, 63, 63, 63, 0]), "@@@!4~?");
    }

    #[test]
    fn an_independent_decoder_reads_the_picture() {
        let image = RgbaImage::from_fn(40, 15, |x, y| {
            Rgba([(x * 6) as u8, (y * 17) as u8, if x < 20 { 0 } else { 200 }, 255])
        });
        let (pixels, width, height) = sixel_decode(&encode(image.clone())).unwrap();
        // The decoder adds the rest of the last band.
        assert_eq!((width, height), (40, 18));
        let differences =
            image.pixels().zip(pixels.chunks_exact(4)).flat_map(|(pixel, decoded)| {
                (0..3).map(|at| u32::from(pixel.0[at].abs_diff(decoded[at])))
            });
        let mean = differences.sum::<u32>() / (40 * 15 * 3);
        assert!(mean < 12, "{mean}");
    }

    #[test]
    fn pictures_of_any_size_are_encoded() {
        for (width, height) in [(1, 1), (1, 6), (7, 1), (2, 13)] {
            let image = RgbaImage::from_pixel(width, height, Rgba([10, 200, 30, 255]));
            let (_, decoded_width, decoded_height) = sixel_decode(&encode(image)).unwrap();
            let rows = height.next_multiple_of(6) as usize;
            assert_eq!((decoded_width, decoded_height), (width as usize, rows));
        }
    }
}
