//! Shows several pictures in the terminal, as a grid with a number below each picture.

use std::path::PathBuf;

use console::{measure_text_width, truncate_str};
use image::{DynamicImage, GenericImage as _};
use tokio::task::spawn_blocking;

use super::screen::{Protocol, Window, decoded, draw};
use crate::{output::Output, text::printable};

/// A picture in the grid, and the text below it.
pub struct Cell {
    pub path: PathBuf,
    pub label: String,
}

/// The maximum number of pictures in a grid. If there were more, they would be too small to tell
/// them apart.
const MOST: usize = 24;

/// The maximum height of a grid in rows. A higher grid would push the text above it off the screen.
const MOST_ROWS: u32 = 60;

/// The number of columns between two pictures.
const GAP: u32 = 2;

/// Shows the first pictures on one screen, if the terminal can show pictures. All of them are
/// already saved, so a picture that cannot be decoded is just left out.
pub async fn show(output: &Output, cells: Vec<Cell>) {
    let Some(protocol) = Protocol::find(&output.process).filter(|_| !output.json) else { return };
    let left_out = cells.len().saturating_sub(MOST);
    // On a separate thread, because a decoder may take long or panic.
    let drawn = spawn_blocking(move || drawing(protocol, &cells, &Window::current())).await;
    match drawn.map_err(|error| error.to_string()).flatten() {
        Ok(drawn) => draw(&output.process, &drawn),
        Err(why) => output.note(&format!("can't show the pictures in the terminal: {why}")),
    }
    if left_out > 0 {
        output.note(&format!("{left_out} more pictures are not shown"));
    }
}

fn drawing(protocol: Protocol, cells: &[Cell], window: &Window) -> Result<Vec<u8>, String> {
    // Shrink each picture at once, because all pictures in full size would need too much memory.
    let read = |cell: &Cell| {
        let cells = (window.columns, window.rows());
        let image = protocol.shrunk(decoded(&cell.path).ok()?, cells, window);
        Some((image, printable(&cell.label)))
    };
    let pictures: Vec<(DynamicImage, String)> = cells.iter().take(MOST).filter_map(read).collect();
    let widest = |(image, _): &(DynamicImage, String)| {
        f64::from(image.width()) / f64::from(image.height().max(1))
    };
    let aspect = pictures.iter().map(widest).fold(0.0, f64::max);
    let columns = best_columns(pictures.len(), aspect, window);
    let (width, height) = cell_of(columns, pictures.len(), window);
    let mut drawing = Vec::new();
    for row in pictures.chunks(columns) {
        let images = row.iter().map(|(image, _)| {
            protocol.shrunk(image.clone(), (width.saturating_sub(GAP), height), window)
        });
        let step = protocol.pixels((width, 1), window).0;
        drawing.extend(protocol.encoded(&side_by_side(images.collect(), step), window)?);
        drawing.extend(labels(row.iter().map(|(_, label)| &**label), width as usize).bytes());
    }
    Ok(drawing)
}

/// The number of pictures in a row for which the pictures are largest.
fn best_columns(count: usize, aspect: f64, window: &Window) -> usize {
    let width = |columns: &usize| {
        let (width, height) = cell_of(*columns, count, window);
        let (cell_width, cell_height) = window.cell;
        let width = f64::from(width.saturating_sub(GAP) * cell_width);
        width.min(f64::from(height * cell_height) * aspect)
    };
    // Among numbers with equally large pictures, prefer the one whose last row has no gap.
    let gap = |columns: &usize| count.next_multiple_of(*columns) - count;
    let order = |one: &usize, other: &usize| {
        width(one).total_cmp(&width(other)).then(gap(other).cmp(&gap(one)))
    };
    (1..=count.max(1)).max_by(order).unwrap_or(1)
}

/// The columns of a cell, including the gap, and its rows, without the row of the label.
fn cell_of(columns: usize, count: usize, window: &Window) -> (u32, u32) {
    let rows = count.div_ceil(columns.max(1)).max(1) as u32;
    let columns = columns.max(1) as u32;
    (
        (window.columns / columns).max(1),
        (window.rows().min(MOST_ROWS) / rows).saturating_sub(1).max(1),
    )
}

/// Combines several pictures into one. Their left sides are `step` pixels apart.
fn side_by_side(images: Vec<DynamicImage>, step: u32) -> DynamicImage {
    let height = images.iter().map(DynamicImage::height).max().unwrap_or_default();
    let last = images.last().map_or(0, DynamicImage::width);
    let width = step * (images.len() as u32).saturating_sub(1) + last;
    let mut row = DynamicImage::new_rgba8(width, height);
    for (at, image) in (0..).zip(&images) {
        // This does not fail, because each image fits into the row.
        let _ = row.copy_from(&image.to_rgba8(), at * step, 0);
    }
    row
}

fn labels<'l>(labels: impl Iterator<Item = &'l str>, width: usize) -> String {
    let labels = labels.map(|label| {
        let label = truncate_str(label, width.saturating_sub(GAP as usize), "…");
        let space = " ".repeat(width.saturating_sub(measure_text_width(&label)));
        format!("{label}{space}")
    });
    format!("{}\n", labels.collect::<String>().trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_as_large_as_they_can_be() {
        let window = Window { columns: 80, rows: 24, cell: (8, 16) };
        for (count, aspect, columns) in
            [(1, 1.0, 1), (2, 1.0, 2), (4, 1.0, 2), (4, 2.0, 2), (3, 0.5, 3), (9, 1.0, 5)]
        {
            assert_eq!(best_columns(count, aspect, &window), columns, "{count} {aspect}");
        }
        let narrow = Window { columns: 40, rows: 24, cell: (8, 16) };
        assert_eq!(best_columns(4, 1.0, &narrow), 2);
    }

    #[test]
    fn labels_are_below_their_pictures() {
        assert_eq!(labels(["@1 guidance 3", "@2"].into_iter(), 10), "@1 guid…  @2\n");
    }
}
