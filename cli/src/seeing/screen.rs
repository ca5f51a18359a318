//! `--show`: shows a picture in the terminal.

use std::{
    io::{self, Write},
    path::Path,
};

use image::{DynamicImage, ImageReader, imageops::FilterType};
use tokio::task::spawn_blocking;

use super::{
    blocks, inline,
    protocol::{Protocol, detect},
    summary::is_video,
};
use crate::{output::Output, process::Process, terminal::spinner, text::sanitize::printable};
use imagekiln::FileKind;

/// Rows that stay free for the prompt of the shell and the line about the picture.
const FREE_ROWS: u32 = 2;

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
            Protocol::Kitty => inline::kitty(&shrunk(image, pixels), window.cell),
            Protocol::Iterm2 => inline::iterm2(&shrunk(image, pixels), window.cell),
            Protocol::Blocks(colours) => {
                let image = shrunk(image, (columns, rows * 2));
                Ok(blocks::encode(image.to_rgb8(), colours).into_bytes())
            }
        }
    }
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
