//! `--show`: shows a picture in the terminal.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
    path::Path,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use image::{
    DynamicImage, GenericImageView as _, ImageReader, ImageResult, Rgb,
    codecs::png::{CompressionType, FilterType as PngFilter, PngEncoder},
    imageops::{ColorMap, FilterType, dither},
};
#[cfg(unix)]
use rustix::termios::tcgetwinsize;
use tokio::task::spawn_blocking;

use super::is_video;
use crate::{output::Output, process::Process, terminal::hidden, text::printable};
use imagekiln::FileKind;

/// The number of rows to keep free for the prompt of the shell and the line about the picture.
const FREE_ROWS: u32 = 2;

/// The maximum number of characters that kitty accepts in one escape sequence.
const CHUNK: usize = 4096;

/// The values of `TERM_PROGRAM` in terminals that support the protocol of iTerm2.
const LIKE_ITERM2: [&str; 3] = ["iTerm.app", "WezTerm", "mintty"];

/// The ways to show a picture, the best one first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Kitty,
    Iterm2,
    /// Half blocks, with these colours.
    Blocks(Colours),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    /// Any colour, in 24 bits.
    True,
    /// The palette of 256 colours that most terminals share.
    Palette,
}

/// The size of the terminal in cells, and of a cell in pixels.
pub struct Window {
    pub columns: u32,
    pub rows: u32,
    pub cell: (u32, u32),
}

impl Protocol {
    /// Finds the best protocol. `None` if there is no terminal, or if it can't show pictures.
    pub fn find(process: &Process) -> Option<Self> {
        if !process.stderr.is_terminal && !process.stdout.is_terminal {
            return None;
        }
        detect(|name| {
            process.variable(name).and_then(|it| it.into_string().ok()).unwrap_or_default()
        })
    }

    /// Shows a picture. It is already saved, so a failure is only a note.
    pub async fn show(self, output: &Output, path: &Path, kind: Option<FileKind>) {
        let Some(kind) = kind else { return };
        let why = if is_video(kind) {
            "it is a video".to_owned()
        } else {
            let file = path.to_owned();
            // On a separate thread, because a decoder may take long or panic.
            let drawn = spawn_blocking(move || self.drawing(&file)).await;
            match drawn.map_err(|error| error.to_string()).flatten() {
                Ok(drawing) => return draw(&output.process, &drawing),
                Err(why) => why,
            }
        };
        let (path, why) = (printable(&path.to_string_lossy()), printable(&why));
        output.note(&format!("can't show {path} in the terminal: {why}"));
    }

    /// Returns the bytes that make the terminal show the picture.
    fn drawing(self, path: &Path) -> Result<Vec<u8>, String> {
        let image = decoded(path).map_err(|error| error.to_string())?;
        let window = Window::current();
        let image = self.shrunk(image, (window.columns, window.rows()), &window);
        self.encoded(&image, &window)
    }

    /// Shrinks the picture to at most this number of columns and rows, keeping its aspect ratio.
    /// Never enlarges it.
    pub fn shrunk(self, image: DynamicImage, cells: (u32, u32), window: &Window) -> DynamicImage {
        let (width, height) = self.pixels(cells, window);
        let fits = image.width() <= width && image.height() <= height;
        if fits { image } else { image.resize(width, height, FilterType::Triangle) }
    }

    /// The size in pixels of an image that fills these columns and rows.
    pub fn pixels(self, (columns, rows): (u32, u32), window: &Window) -> (u32, u32) {
        match self {
            Self::Kitty | Self::Iterm2 => (columns * window.cell.0, rows * window.cell.1),
            Self::Blocks(_) => (columns, rows * 2),
        }
    }

    /// Returns the bytes that show a picture, which must fit the terminal.
    pub fn encoded(self, image: &DynamicImage, window: &Window) -> Result<Vec<u8>, String> {
        match self {
            Self::Kitty => kitty(image, window.cell),
            Self::Iterm2 => iterm2(image, window.cell),
            Self::Blocks(colours) => Ok(blocks(image, colours).into_bytes()),
        }
    }
}

/// Decodes a picture, whose name may have any extension. Blocks.
pub fn decoded(path: &Path) -> ImageResult<DynamicImage> {
    ImageReader::open(path)?.with_guessed_format()?.decode()
}

/// Writes the drawing to standard error. If only standard output is a terminal, writes it there.
/// Otherwise standard output gets nothing but the path.
pub fn draw(process: &Process, bytes: &[u8]) {
    let stream = if process.stderr.is_terminal { &process.stderr } else { &process.stdout };
    let mut stream = stream.clone();
    // An error means that the terminal was closed, so nobody misses the drawing.
    let _ = hidden(|| stream.write_all(bytes).and_then(|()| stream.flush()));
}

/// Finds the best protocol by the environment, of which `variable` returns the variables. `None` if
/// the terminal can't show pictures.
fn detect(variable: impl Fn(&str) -> String) -> Option<Protocol> {
    let is_set = |name| !variable(name).is_empty();
    let (term, program) = (variable("TERM"), variable("TERM_PROGRAM"));
    if term == "dumb" || (term.is_empty() && cfg!(unix)) {
        return None;
    }
    let is_true = ["truecolor", "24bit"].contains(&&*variable("COLORTERM")) || cfg!(windows);
    let blocks = Protocol::Blocks(if is_true { Colours::True } else { Colours::Palette });
    // A multiplexer inherits the variables of the terminal around it, but does not pass its
    // protocols on to that terminal.
    let is_nested = ["TMUX", "STY", "ZELLIJ"].into_iter().any(is_set)
        || ["tmux", "screen"].iter().any(|name| term.starts_with(name));
    if !is_nested {
        let is_kitty = ["kitty", "ghostty"].iter().any(|name| term.contains(name));
        if is_kitty || is_set("KITTY_WINDOW_ID") {
            return Some(Protocol::Kitty);
        }
        if LIKE_ITERM2.contains(&&*program) || variable("LC_TERMINAL") == "iTerm2" {
            return Some(Protocol::Iterm2);
        }
    }
    Some(blocks)
}

/// See <https://sw.kovidgoyal.net/kitty/graphics-protocol/>.
fn kitty(image: &DynamicImage, cell: (u32, u32)) -> Result<Vec<u8>, String> {
    let data = png(image)?;
    let columns = image.width().div_ceil(cell.0);
    let mut sequences = Vec::new();
    let mut chunks = data.as_bytes().chunks(CHUNK).peekable();
    // `q=2` suppresses the terminal's responses, which nobody would read.
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
fn iterm2(image: &DynamicImage, cell: (u32, u32)) -> Result<Vec<u8>, String> {
    let data = png(image)?;
    let bytes = data.len() / 4 * 3 - data.bytes().rev().take_while(|byte| *byte == b'=').count();
    let (columns, rows) = (image.width().div_ceil(cell.0), image.height().div_ceil(cell.1));
    let head = format!("inline=1;size={bytes};width={columns};height={rows}");
    Ok(format!("\x1b]1337;File={head};preserveAspectRatio=1:{data}\x07\n").into_bytes())
}

/// Encodes the picture as a PNG, and the PNG in base64.
fn png(image: &DynamicImage) -> Result<String, String> {
    let mut png = Vec::new();
    let encoder =
        PngEncoder::new_with_quality(&mut png, CompressionType::Fast, PngFilter::Adaptive);
    image.write_with_encoder(encoder).map_err(|error| error.to_string())?;
    Ok(BASE64_STANDARD.encode(png))
}

/// Draws the picture as text. Each character is a half block: it fills the upper half of a cell,
/// and the background is the lower half, so it shows two pixels. Transparent pixels, and the lower
/// half of an odd last row, keep the background of the terminal.
fn blocks(picture: &DynamicImage, colours: Colours) -> String {
    let is_shown = |x, y| picture.get_pixel(x, y).0[3] > 0;
    let mut image = picture.to_rgb8();
    // `dither` panics for an image with only one row or column.
    if colours == Colours::Palette && image.width().min(image.height()) > 1 {
        dither(&mut image, &Palette);
    }
    let mut text = String::new();
    for y in (0..image.height()).step_by(2) {
        for x in 0..image.width() {
            if !is_shown(x, y) {
                text.push_str("\x1b[0m ");
                continue;
            }
            // Writing to a `String` does not fail.
            let _ = write!(text, "\x1b[38;{}", colour(image.get_pixel(x, y), colours));
            if let Some(below) = image.get_pixel_checked(x, y + 1).filter(|_| is_shown(x, y + 1)) {
                let _ = write!(text, ";48;{}", colour(below, colours));
            }
            text.push_str("m\u{2580}");
        }
        text.push_str("\x1b[0m\n");
    }
    text
}

fn colour(colour: &Rgb<u8>, colours: Colours) -> String {
    match (colours, colour.0) {
        (Colours::True, [red, green, blue]) => format!("2;{red};{green};{blue}"),
        (Colours::Palette, _) => format!("5;{}", Palette.index_of(colour)),
    }
}

/// The colours of the palette that are used: the cube of 216 colours, which starts at 16, and the
/// 24 grays after it. Pictures are dithered to these colours, so that gradients have no bands.
struct Palette;

impl Palette {
    /// Returns the index of the nearest colour, and that colour.
    fn nearest(colour: [u8; 3]) -> (usize, [u8; 3]) {
        let channels = colour.map(nearest);
        let cube = channels.iter().fold(0, |index, (level, _)| 6 * index + level);
        let mean = colour.iter().map(|channel| usize::from(*channel)).sum::<usize>() / 3;
        let gray = (mean.saturating_sub(3) / 10).min(23);
        let level = 8 + 10 * gray as u8;
        let candidates = [(16 + cube, channels.map(|(_, level)| level)), (232 + gray, [level; 3])];
        let distance = |other: &[u8; 3]| -> u32 {
            let pairs = colour.iter().zip(other);
            pairs.map(|(one, other)| u32::from(one.abs_diff(*other)).pow(2)).sum()
        };
        let [cube, gray] = candidates;
        if distance(&gray.1) < distance(&cube.1) { gray } else { cube }
    }
}

impl ColorMap for Palette {
    type Color = Rgb<u8>;

    fn index_of(&self, colour: &Rgb<u8>) -> usize {
        Self::nearest(colour.0).0
    }

    fn map_color(&self, colour: &mut Rgb<u8>) {
        colour.0 = Self::nearest(colour.0).1;
    }
}

/// Returns the index of the nearest level of a channel, and that level.
fn nearest(channel: u8) -> (usize, u8) {
    let levels = [0u8, 95, 135, 175, 215, 255].into_iter().enumerate();
    levels.min_by_key(|(_, level)| level.abs_diff(channel)).unwrap_or_default()
}

#[expect(clippy::disallowed_methods, reason = "the terminal that is a standard stream")]
impl Window {
    #[cfg(unix)]
    pub fn current() -> Self {
        let size = tcgetwinsize(io::stderr()).or_else(|_| tcgetwinsize(io::stdout()));
        size.map_or_else(
            |_| Self::of((0, 0), (0, 0)),
            |size| {
                let pixels = (size.ws_xpixel.into(), size.ws_ypixel.into());
                Self::of((size.ws_col.into(), size.ws_row.into()), pixels)
            },
        )
    }

    #[cfg(not(unix))]
    pub fn current() -> Self {
        let terminals = [console::Term::stderr(), console::Term::stdout()];
        let size = terminals.iter().find_map(console::Term::size_checked);
        let (rows, columns) = size.unwrap_or_default();
        Self::of((columns.into(), rows.into()), (0, 0))
    }

    /// The number of rows for pictures.
    pub fn rows(&self) -> u32 {
        self.rows.saturating_sub(FREE_ROWS).max(1)
    }

    /// Creates the window from its size in cells and its size in pixels. Sizes that are not known
    /// are 0, and replaced by usual ones.
    fn of((columns, rows): (u32, u32), pixels: (u32, u32)) -> Self {
        let (columns, rows) = match (columns, rows) {
            (0, _) | (_, 0) => (80, 24),
            known => known,
        };
        let cell = match (pixels.0 / columns, pixels.1 / rows) {
            (0, _) | (_, 0) => (8, 16),
            known => known,
        };
        Self { columns, rows, cell }
    }
}

#[cfg(test)]
mod tests {
    use image::RgbImage;

    use super::*;

    const BLOCKS: Protocol = Protocol::Blocks(Colours::Palette);

    #[test]
    fn the_variables_tell_the_protocol() {
        for (variables, protocol) in [
            (&[("TERM", "xterm-kitty")][..], Protocol::Kitty),
            (&[("TERM", "xterm-ghostty")], Protocol::Kitty),
            (&[("TERM", "xterm-256color"), ("KITTY_WINDOW_ID", "1")], Protocol::Kitty),
            (&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "WezTerm")], Protocol::Iterm2),
            (&[("TERM", "xterm-256color"), ("LC_TERMINAL", "iTerm2")], Protocol::Iterm2),
            (&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "Apple_Terminal")], BLOCKS),
            // A multiplexer does not have the protocols of the terminal around it.
            (&[("TERM", "tmux-256color"), ("KITTY_WINDOW_ID", "1")], BLOCKS),
            (&[("TERM", "screen"), ("LC_TERMINAL", "iTerm2")], BLOCKS),
            (&[("TERM", "xterm-kitty"), ("ZELLIJ", "0")], BLOCKS),
        ] {
            let variable = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned()).unwrap_or_default()
            };
            assert_eq!(detect(variable), Some(protocol), "{variables:?}");
        }
    }

    #[test]
    fn a_character_shows_two_pixels() {
        let image = RgbImage::from_fn(2, 3, |x, y| Rgb([x as u8, y as u8, 7]));
        assert_eq!(
            blocks(&image.into(), Colours::True),
            "\x1b[38;2;0;0;7;48;2;0;1;7m▀\x1b[38;2;1;0;7;48;2;1;1;7m▀\x1b[0m\n\
             \x1b[38;2;0;2;7m▀\x1b[38;2;1;2;7m▀\x1b[0m\n"
        );
        let image = RgbImage::from_pixel(1, 2, Rgb([255, 0, 0]));
        assert_eq!(blocks(&image.into(), Colours::Palette), "\x1b[38;5;196;48;5;196m▀\x1b[0m\n");
    }

    /// In each square of a dithered gradient, the mean must be that of the original gradient.
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
            blocks(&RgbImage::new(width, height).into(), Colours::Palette);
        }
    }

    #[test]
    fn the_nearest_colour_of_the_palette_is_chosen() {
        for (colour, index, mapped) in [
            ([0, 0, 0], 16, [0, 0, 0]),
            ([255, 255, 255], 231, [255, 255, 255]),
            ([95, 135, 175], 67, [95, 135, 175]),
            ([47, 48, 236], 27, [0, 95, 255]),
            ([128, 128, 128], 244, [128; 3]),
            ([60, 62, 55], 237, [58; 3]),
            ([3, 3, 3], 16, [0; 3]),
            ([250, 250, 250], 231, [255; 3]),
        ] {
            let mut colour = Rgb(colour);
            assert_eq!(Palette.index_of(&colour), index, "{colour:?}");
            Palette.map_color(&mut colour);
            assert_eq!(colour.0, mapped);
        }
    }
}
