//! A terminal as a picture.

use std::fmt::Write as _;

use avt::{Cell, Color, Line, Pen, Rgb};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use image::{ImageFormat, Rgba, RgbaImage};

use imagekiln_testbed::picture::encoded;

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

/// What a terminal shows, and for how many milliseconds.
pub struct Frame {
    pub milliseconds: usize,
    pub rows: Vec<Line>,
}

/// A recording of a terminal with this number of columns, which repeats. Without animations, the
/// last frame is shown. Its text is the description.
pub fn recording(columns: usize, frames: &[Frame]) -> String {
    let used = |frame: &Frame| frame.rows.iter().rposition(|row| !row.text().trim().is_empty());
    let height = frames.iter().filter_map(used).max().map_or(0, |row| row + 1);
    let (width, height) = (columns * WIDTH + 2 * MARGIN, height * HEIGHT + 2 * MARGIN);
    let text = frames.last().map(text_of).unwrap_or_default();
    // A row is defined once, and each frame that shows it uses it. The frames are side by side, and
    // the animation moves them. The last one is where it is seen without one.
    let (mut defined, mut strip, mut steps) = (Vec::new(), String::new(), String::new());
    let all: usize = frames.iter().map(|frame| frame.milliseconds).sum();
    let mut before = 0;
    for (index, frame) in frames.iter().enumerate() {
        let left = (frames.len() - 1 - index) * width;
        let percent = 100.0 * before as f64 / all as f64;
        before += frame.milliseconds;
        let _ = writeln!(steps, "{percent:.2}% {{ transform: translateX({left}px) }}");
        let _ = write!(strip, "<g transform=\"translate(-{left})\">{}", image(columns, frame));
        for (row, line) in frame.rows.iter().enumerate() {
            let row_text = texts(line);
            if row_text.is_empty() {
                continue;
            }
            let known = defined.iter().position(|other| *other == row_text);
            let id = known.unwrap_or(defined.len());
            if known.is_none() {
                defined.push(row_text);
            }
            let _ = write!(strip, "<use href=\"#r{id}\" y=\"{}\"/>", row * HEIGHT);
        }
        strip += "</g>\n";
    }
    let rows = defined.iter().enumerate();
    let rows: String = rows.map(|(id, row)| format!("<g id=\"r{id}\">{row}</g>\n")).collect();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"-{MARGIN} -{MARGIN} {width} {height}\" font-family=\"ui-monospace, \
         SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"15\" \
         fill=\"{FOREGROUND}\">\n<desc>{text}</desc>\n<style>\n\
         .frames {{ animation: frames {all}ms step-end infinite }}\n\
         @keyframes frames {{\n{steps}}}\n\
         @media (prefers-reduced-motion: reduce) {{ .frames {{ animation: none }} }}\n</style>\n\
         <defs>\n{rows}</defs>\n\
         <rect x=\"-{MARGIN}\" y=\"-{MARGIN}\" width=\"{width}\" height=\"{height}\" rx=\"8\" \
         fill=\"{BACKGROUND}\"/>\n<g class=\"frames\">\n{strip}</g>\n</svg>\n"
    )
}

/// The text of a frame, without half blocks.
fn text_of(frame: &Frame) -> String {
    let rows = frame.rows.iter().map(|row| row.text());
    let rows: Vec<_> = rows.filter(|row| !row.contains('▀')).collect();
    escaped(rows.iter().map(|row| row.trim_end()).collect::<Vec<_>>().join("\n").trim_end())
}

/// The elements of the half blocks of a frame.
fn image(columns: usize, frame: &Frame) -> String {
    let rows = &frame.rows;
    if !rows.iter().any(|row| row.text().contains('▀')) {
        return String::new();
    }
    format!(
        "<image width=\"{}\" height=\"{}\" style=\"image-rendering: pixelated\" \
         href=\"data:image/png;base64,{}\"/>",
        columns * WIDTH,
        rows.len() * HEIGHT,
        STANDARD.encode(half_blocks(columns, rows)),
    )
}

/// The elements of the text of a row.
fn texts(line: &Line) -> String {
    let (mut column, mut texts) = (0, String::new());
    for cells in line.cells().chunk_by(|a, b| a.pen() == b.pen()) {
        texts += &text(column, cells);
        column += cells.len();
    }
    texts
}

/// The half blocks as an image of two pixels per character, which is transparent elsewhere. As
/// text, they would have gaps.
fn half_blocks(columns: usize, rows: &[Line]) -> Vec<u8> {
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
    encoded(image, ImageFormat::Png)
}

/// The text of cells in the same colour. Its length is fixed, because fonts differ.
fn text(column: usize, cells: &[Cell]) -> String {
    let text: String =
        cells.iter().map(Cell::char).map(|c| if c == '▀' { ' ' } else { c }).collect();
    if text.trim().is_empty() {
        return String::new();
    }
    let before = text.chars().take_while(|c| *c == ' ').count();
    let text = text.trim();
    format!(
        "<text x=\"{}\" y=\"14\" textLength=\"{}\" xml:space=\"preserve\"{}>{}</text>",
        (column + before) * WIDTH,
        text.chars().count() * WIDTH,
        style(cells[0].pen()),
        escaped(text),
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
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
