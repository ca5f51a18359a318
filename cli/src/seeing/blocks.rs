//! Pictures as text: each character is the upper half of a cell, and shows two pixels.

use std::fmt::Write;

use image::{
    Rgb, RgbImage,
    imageops::{ColorMap, dither},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    /// 24 bits for each pixel.
    True,
    /// The palette of 256 colours that most terminals share.
    Palette,
}

/// A line for every two rows of pixels. An odd last row has the terminal's background below it.
pub fn encode(mut image: RgbImage, colours: Colours) -> String {
    // `dither` panics if there is only one row or column.
    if colours == Colours::Palette && image.width().min(image.height()) > 1 {
        dither(&mut image, &Palette);
    }
    let mut text = String::new();
    for y in (0..image.height()).step_by(2) {
        for x in 0..image.width() {
            // Writing to a `String` does not fail.
            let _ = write!(text, "\x1b[38;{}", colour(image.get_pixel(x, y), colours));
            if let Some(below) = image.get_pixel_checked(x, y + 1) {
                let _ = write!(text, ";48;{}", colour(below, colours));
            }
            text.push_str("m\u{2580}");
        }
        text.push_str("\x1b[0m\n");
    }
    text
}

fn colour(&Rgb([red, green, blue]): &Rgb<u8>, colours: Colours) -> String {
    match colours {
        Colours::True => format!("2;{red};{green};{blue}"),
        Colours::Palette => format!("5;{}", nearest([red, green, blue])),
    }
}

/// The colours to which pictures are dithered, so that gradients have no bands.
struct Palette;

impl ColorMap for Palette {
    type Color = Rgb<u8>;

    fn index_of(&self, colour: &Rgb<u8>) -> usize {
        nearest(colour.0).into()
    }

    fn map_color(&self, colour: &mut Rgb<u8>) {
        let level = |at: u8| LEVELS.get(usize::from(at % 6)).copied().unwrap_or_default();
        colour.0 = match nearest(colour.0) {
            grey @ 232.. => [8 + 10 * (grey - 232); 3],
            index => [(index - 16) / 36, (index - 16) / 6, index - 16].map(level),
        };
    }
}

/// The levels of each channel in the palette's cube of 216 colours, which starts at 16.
const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];

/// The nearest colour of the palette: one of the cube, or one of the 24 greys from 232.
fn nearest(colour: [u8; 3]) -> u8 {
    let levels = || (0..).zip(LEVELS);
    let level = |channel: u8| levels().min_by_key(|(_, level)| level.abs_diff(channel));
    let nearest = colour.map(|channel| level(channel).unwrap_or_default());
    let [red, green, blue] = nearest.map(|(at, _): (u8, u8)| at);
    let in_cube = nearest.map(|(_, level)| level);
    let mean = colour.iter().map(|channel| u16::from(*channel)).sum::<u16>() / 3;
    // The greys are 8, 18, 28, and so on up to 238.
    let grey = u8::try_from((mean.saturating_sub(3) / 10).min(23)).unwrap_or_default();
    if distance(colour, [8 + 10 * grey; 3]) < distance(colour, in_cube) {
        232 + grey
    } else {
        16 + 36 * red + 6 * green + blue
    }
}

fn distance(one: [u8; 3], other: [u8; 3]) -> u32 {
    one.iter().zip(other).map(|(one, other)| u32::from(one.abs_diff(other)).pow(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_shows_two_pixels() {
        let image = RgbImage::from_fn(2, 3, |x, y| Rgb([x as u8, y as u8, 7]));
        assert_eq!(
            encode(image, Colours::True),
            "\x1b[38;2;0;0;7;48;2;0;1;7m▀\x1b[38;2;1;0;7;48;2;1;1;7m▀\x1b[0m\n\
             \x1b[38;2;0;2;7m▀\x1b[38;2;1;2;7m▀\x1b[0m\n"
        );
        let image = RgbImage::from_pixel(1, 2, Rgb([255, 0, 0]));
        assert_eq!(encode(image, Colours::Palette), "\x1b[38;5;196;48;5;196m▀\x1b[0m\n");
    }

    /// The mean of each square of a dithered gradient is that of the gradient.
    #[test]
    fn a_gradient_has_no_bands() {
        const SIDE: u32 = 8;
        let gradient = |x: u32| 95 + x / 8;
        let mut image = RgbImage::from_fn(320, SIDE, |x, _| Rgb([0, 95, gradient(x) as u8]));
        dither(&mut image, &Palette);
        for left in (SIDE..320 - SIDE).step_by(SIDE as usize) {
            let pixels = (0..SIDE * SIDE).map(|at| image.get_pixel(left + at % SIDE, at / SIDE));
            let mean = pixels.map(|pixel| u32::from(pixel.0[2])).sum::<u32>() / (SIDE * SIDE);
            assert!(mean.abs_diff(gradient(left)) < 8, "{left}: {mean}");
        }
        for (width, height) in [(1, 1), (1, 9), (9, 1), (0, 0)] {
            encode(RgbImage::new(width, height), Colours::Palette);
        }
    }

    #[test]
    fn colours_of_the_palette_stay() {
        let greys = (8..=238).step_by(10).map(|grey| [grey; 3]);
        for colour in greys.chain([[0; 3], [255; 3], [95, 135, 175], [215, 0, 255]]) {
            let mut mapped = Rgb(colour);
            Palette.map_color(&mut mapped);
            assert_eq!(mapped.0, colour);
        }
    }

    #[test]
    fn the_nearest_colour_of_the_palette_is_chosen() {
        for (colour, index) in [
            ([0, 0, 0], 16),
            ([255, 255, 255], 231),
            ([95, 135, 175], 67),
            ([8, 8, 8], 232),
            ([127, 128, 129], 244),
            ([238, 238, 238], 255),
            ([250, 10, 10], 196),
        ] {
            assert_eq!(nearest(colour), index, "{colour:?}");
        }
        for colour in 0..=255u8 {
            nearest([colour; 3]);
        }
    }
}
