//! Pictures as text: each character is the upper half of a cell, and shows two pixels.

use std::fmt::Write;

use image::{Rgb, RgbImage};

use super::protocol::Colours;

/// A line for every two rows of pixels. An odd last row has the terminal's background below it.
pub fn encode(image: &RgbImage, colours: Colours) -> String {
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
            encode(&image, Colours::True),
            "\x1b[38;2;0;0;7;48;2;0;1;7m▀\x1b[38;2;1;0;7;48;2;1;1;7m▀\x1b[0m\n\
             \x1b[38;2;0;2;7m▀\x1b[38;2;1;2;7m▀\x1b[0m\n"
        );
        let image = RgbImage::from_pixel(1, 2, Rgb([255, 0, 0]));
        assert_eq!(encode(&image, Colours::Palette), "\x1b[38;5;196;48;5;196m▀\x1b[0m\n");
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
