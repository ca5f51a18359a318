//! `--show`: shows a picture in the terminal.

use std::{
    io::{self, Write},
    path::Path,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use image::{
    DynamicImage, ImageReader,
    codecs::png::{CompressionType, FilterType as PngFilter, PngEncoder},
    imageops::FilterType,
};
use tokio::task::spawn_blocking;

use super::{
    blocks::{self, Colours},
    is_video,
};
use crate::{output::Output, process::Process, terminal::spinner, text::sanitize::printable};
use imagekiln::FileKind;

/// Rows that stay free for the prompt of the shell and the line about the picture.
const FREE_ROWS: u32 = 2;

/// kitty accepts at most this many characters in one sequence.
const CHUNK: usize = 4096;

/// Values of `TERM_PROGRAM` of terminals with the protocol of iTerm2.
const LIKE_ITERM2: [&str; 3] = ["iTerm.app", "WezTerm", "mintty"];

/// The terminal, and how it shows pictures.
#[derive(Clone, Copy)]
pub struct Screen {
    stream: Stream,
    protocol: Protocol,
}

/// The stream that is the terminal. Standard output keeps only the path if it can.
#[derive(Clone, Copy)]
enum Stream {
    Stderr,
    Stdout,
}

/// A way to show a picture, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Kitty,
    Iterm2,
    /// Half blocks of these colours.
    Blocks(Colours),
}

/// The size of the terminal in cells, and of a cell in pixels.
struct Window {
    columns: u32,
    rows: u32,
    cell: (u32, u32),
}

impl Screen {
    /// `None` if there is no terminal, or if it can't show pictures.
    pub fn find(process: &Process) -> Option<Self> {
        let stream = match (process.stderr.is_terminal, process.stdout.is_terminal) {
            (true, _) => Stream::Stderr,
            (false, true) => Stream::Stdout,
            (false, false) => return None,
        };
        let variable = |name: &str| {
            process.variable(name).and_then(|it| it.into_string().ok()).unwrap_or_default()
        };
        Some(Self { stream, protocol: detect(variable)? })
    }

    /// Shows the picture, which is saved, so a failure is only a note.
    pub async fn show(&self, output: &Output, path: &Path, kind: Option<FileKind>) {
        let Some(kind) = kind else { return };
        let why = if is_video(kind) {
            "it is a video".to_owned()
        } else {
            let (screen, file) = (*self, path.to_owned());
            // On a separate thread, because a decoder may take long or panic.
            let drawn = spawn_blocking(move || screen.drawing(&file)).await;
            match drawn.map_err(|error| error.to_string()).flatten() {
                Ok(drawing) => return self.stream.write(&drawing),
                Err(why) => why,
            }
        };
        let (path, why) = (printable(&path.to_string_lossy()), printable(&why));
        output.note(&format!("can't show {path} in the terminal: {why}"));
    }

    /// The bytes with which the terminal shows the picture.
    fn drawing(&self, path: &Path) -> Result<Vec<u8>, String> {
        let read = || -> image::ImageResult<DynamicImage> {
            ImageReader::open(path)?.with_guessed_format()?.decode()
        };
        let image = read().map_err(|error| error.to_string())?;
        let window = self.stream.window();
        let (columns, rows) = (window.columns, window.rows.saturating_sub(FREE_ROWS).max(1));
        let (width, height) = window.cell;
        let pixels = (columns * width, rows * height);
        match self.protocol {
            Protocol::Kitty => kitty(&shrunk(image, pixels), window.cell),
            Protocol::Iterm2 => iterm2(&shrunk(image, pixels), window.cell),
            Protocol::Blocks(colours) => {
                let image = shrunk(image, (columns, rows * 2));
                Ok(blocks::encode(image.to_rgb8(), colours).into_bytes())
            }
        }
    }
}

/// Finds the best protocol. `variable` returns variables of the environment. `None` if the terminal
/// can't show pictures.
fn detect(variable: impl Fn(&str) -> String) -> Option<Protocol> {
    let is_set = |name| !variable(name).is_empty();
    let (term, program) = (variable("TERM"), variable("TERM_PROGRAM"));
    if term == "dumb" || (term.is_empty() && cfg!(unix)) {
        return None;
    }
    let is_true = ["truecolor", "24bit"].contains(&&*variable("COLORTERM")) || cfg!(windows);
    let blocks = Protocol::Blocks(if is_true { Colours::True } else { Colours::Palette });
    // A multiplexer inherits the variables of its terminal, but does not pass on its protocols.
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
fn iterm2(image: &DynamicImage, cell: (u32, u32)) -> Result<Vec<u8>, String> {
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
        PngEncoder::new_with_quality(&mut png, CompressionType::Fast, PngFilter::Adaptive);
    image.write_with_encoder(encoder).map_err(|error| error.to_string())?;
    Ok(BASE64_STANDARD.encode(png))
}

/// The picture within these dimensions, with its aspect ratio. It is never enlarged.
fn shrunk(image: DynamicImage, (width, height): (u32, u32)) -> DynamicImage {
    if image.width() > width || image.height() > height {
        image.resize(width, height, FilterType::Triangle)
    } else {
        image
    }
}

#[expect(clippy::disallowed_methods, reason = "the terminal that is this stream")]
impl Stream {
    fn write(self, bytes: &[u8]) {
        // Output to a closed terminal is dropped.
        let _ = spinner::hidden(|| match self {
            Self::Stderr => write_all(io::stderr().lock(), bytes),
            Self::Stdout => write_all(io::stdout().lock(), bytes),
        });
    }

    #[cfg(unix)]
    fn window(self) -> Window {
        let size = match self {
            Self::Stderr => rustix::termios::tcgetwinsize(io::stderr()),
            Self::Stdout => rustix::termios::tcgetwinsize(io::stdout()),
        };
        match size {
            Ok(size) => Window::of(
                (size.ws_col.into(), size.ws_row.into()),
                (size.ws_xpixel.into(), size.ws_ypixel.into()),
            ),
            Err(_) => Window::of((0, 0), (0, 0)),
        }
    }

    #[cfg(not(unix))]
    fn window(self) -> Window {
        let term = match self {
            Self::Stderr => console::Term::stderr(),
            Self::Stdout => console::Term::stdout(),
        };
        let (rows, columns) = term.size();
        Window::of((columns.into(), rows.into()), (0, 0))
    }
}

impl Window {
    /// A size in cells and one in pixels, of which either may not be known.
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

fn write_all(mut stream: impl Write, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes)?;
    stream.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCKS: Protocol = Protocol::Blocks(Colours::Palette);

    fn of(variables: &[(&str, &str)]) -> Option<Protocol> {
        detect(|name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned()).unwrap_or_default()
        })
    }

    #[test]
    fn the_variables_tell_the_protocol() {
        for (variables, protocol) in [
            (&[("TERM", "xterm-kitty")][..], Protocol::Kitty),
            (&[("TERM", "xterm-ghostty")], Protocol::Kitty),
            (&[("TERM", "xterm-256color"), ("KITTY_WINDOW_ID", "1")], Protocol::Kitty),
            (&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "WezTerm")], Protocol::Iterm2),
            (&[("TERM", "xterm-256color"), ("LC_TERMINAL", "iTerm2")], Protocol::Iterm2),
            (&[("TERM", "linux")], BLOCKS),
            (&[("TERM", "xterm")], BLOCKS),
            (&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "Apple_Terminal")], BLOCKS),
            (&[("TERM", "xterm"), ("COLORTERM", "truecolor")], Protocol::Blocks(Colours::True)),
        ] {
            assert_eq!(of(variables), Some(protocol), "{variables:?}");
        }
    }

    #[test]
    fn a_multiplexer_is_not_its_terminal() {
        let tmux = [("TERM", "tmux-256color"), ("KITTY_WINDOW_ID", "1"), ("TMUX", "/tmp/tmux")];
        assert_eq!(of(&tmux), Some(BLOCKS));
        let screen = [("TERM", "screen"), ("LC_TERMINAL", "iTerm2")];
        assert_eq!(of(&screen), Some(BLOCKS));
    }

    #[test]
    fn a_dumb_terminal_shows_no_picture() {
        assert_eq!(of(&[("TERM", "dumb"), ("TERM_PROGRAM", "iTerm.app")]), None);
    }
}
