//! A terminal as a picture.

use std::{fmt::Write as _, io::Cursor};

use avt::{Cell, Color, Line, Pen, Rgb};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use image::{ImageFormat, Rgba, RgbaImage};

/// The size of a character in pixels. Half of it is a square, so that half blocks are pixels.
const WIDTH: usize = 9;
const HEIGHT: usize = 18;
const MARGIN: usize = 14;

const BACKGROUND: &str = "#0d1117";
const FOREGROUND: &str = "#e6edf3";
/// Black, red, green, yellow, blue, magenta, cyan and white, then the bright ones.
const PALETTE: [&str; 16] = [
    "#484f58", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#b1bac4",
    "#6e7681", "#ffa198", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#ffffff",
];

/// The rows of a terminal with this number of columns.
pub fn of_rows(columns: usize, rows: &[&Line]) -> String {
    let (width, height) = (columns * WIDTH, rows.len() * HEIGHT);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" \
         viewBox=\"-{MARGIN} -{MARGIN} {0} {1}\" font-family=\"ui-monospace, SFMono-Regular, \
         Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"15\" fill=\"{FOREGROUND}\">\n\
         <rect x=\"-{MARGIN}\" y=\"-{MARGIN}\" width=\"{0}\" height=\"{1}\" rx=\"8\" \
         fill=\"{BACKGROUND}\"/>\n\
         <image width=\"{width}\" height=\"{height}\" style=\"image-rendering: pixelated\" \
         href=\"data:image/png;base64,{2}\"/>\n",
        width + 2 * MARGIN,
        height + 2 * MARGIN,
        STANDARD.encode(half_blocks(columns, rows)),
    );
    for (row, line) in rows.iter().enumerate() {
        let mut column = 0;
        for cells in line.cells().chunk_by(|a, b| a.pen() == b.pen()) {
            svg += &text(column, row, cells);
            column += cells.len();
        }
    }
    svg + "</svg>\n"
}

/// The half blocks as an image of two pixels per character, which is transparent elsewhere. As
/// text, they would have gaps.
fn half_blocks(columns: usize, rows: &[&Line]) -> Vec<u8> {
    let mut image = RgbaImage::new(columns as u32, 2 * rows.len() as u32);
    for (row, line) in rows.iter().enumerate() {
        for (column, cell) in line.cells().iter().enumerate().filter(|(_, c)| c.char() == '▀') {
            let halves = [cell.pen().foreground(), cell.pen().background()];
            for (half, color) in halves.into_iter().enumerate() {
                if let Some(Color::RGB(Rgb { r, g, b })) = color {
                    image.put_pixel(column as u32, (2 * row + half) as u32, Rgba([r, g, b, 255]));
                }
            }
        }
    }
    let mut file = Cursor::new(Vec::new());
    image.write_to(&mut file, ImageFormat::Png).unwrap();
    file.into_inner()
}

/// The text of cells in the same colour. Its length is fixed, because fonts differ.
fn text(column: usize, row: usize, cells: &[Cell]) -> String {
    let text: String =
        cells.iter().map(Cell::char).map(|c| if c == '▀' { ' ' } else { c }).collect();
    if text.trim().is_empty() {
        return String::new();
    }
    let before = text.chars().take_while(|c| *c == ' ').count();
    let text = text.trim();
    let mut element = format!(
        "<text x=\"{}\" y=\"{}\" textLength=\"{}\" xml:space=\"preserve\"{}>",
        (column + before) * WIDTH,
        row * HEIGHT + 14,
        text.chars().count() * WIDTH,
        style(cells[0].pen())
    );
    for c in text.chars() {
        match c {
            '<' => element += "&lt;",
            '&' => element += "&amp;",
            c => element.push(c),
        }
    }
    element + "</text>\n"
}

fn style(pen: &Pen) -> String {
    let mut style = String::new();
    let color = match pen.foreground() {
        Some(Color::Indexed(index)) => PALETTE.get(usize::from(index)).map(|&c| c.to_owned()),
        Some(Color::RGB(Rgb { r, g, b })) => Some(format!("#{r:02x}{g:02x}{b:02x}")),
        None => None,
    };
    if let Some(color) = color {
        let _ = write!(style, " fill=\"{color}\"");
    }
    if pen.is_bold() {
        style += " font-weight=\"bold\"";
    }
    if pen.is_faint() {
        style += " opacity=\"0.7\"";
    }
    style
}
