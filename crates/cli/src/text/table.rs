//! Tables for people. They fit the width of the terminal; without a terminal, no text is cut.

use console::{measure_text_width, truncate_str};

use super::fit::wrap;

const GAP: usize = 2;

/// The minimum width of a column with long texts. If the terminal is too narrow for it,
/// optional columns are left out.
const LEAST: usize = 10;

/// Rows of cells. All cells of a column are padded to the same width on the screen, on which some
/// characters take two columns.
#[derive(Default)]
pub struct Table<const N: usize> {
    rows: Vec<[String; N]>,
    long: &'static [usize],
    optional: &'static [usize],
    numbers: &'static [usize],
    paths: &'static [usize],
    wraps: bool,
    omits_empty: bool,
    indent: usize,
}

impl<const N: usize> Table<N> {
    pub fn new(rows: impl IntoIterator<Item = [String; N]>) -> Self {
        Self { rows: rows.into_iter().collect(), ..Self::default() }
    }

    pub fn with_heading(heading: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> Self {
        Self::new([heading.map(str::to_owned)].into_iter().chain(rows))
    }

    /// Sets the columns with long texts, which are cut if the terminal is narrow.
    pub fn long(self, long: &'static [usize]) -> Self {
        Self { long, ..self }
    }

    /// Like [`long`](Self::long), but the texts continue on further lines instead.
    pub fn wrapped(self, long: &'static [usize]) -> Self {
        Self { long, wraps: true, ..self }
    }

    /// Sets the columns that are left out if the terminal is narrow, the first one first.
    pub fn optional(self, optional: &'static [usize]) -> Self {
        Self { optional, ..self }
    }

    /// Sets the columns that are aligned to the right.
    pub fn numbers(self, numbers: &'static [usize]) -> Self {
        Self { numbers, ..self }
    }

    /// Sets the columns with paths. If a path is too long, its beginning is cut, because its end
    /// says more.
    pub fn paths(self, paths: &'static [usize]) -> Self {
        Self { paths, ..self }
    }

    /// Leaves out columns that have nothing below their heading.
    pub fn without_empty(self) -> Self {
        Self { omits_empty: true, ..self }
    }

    /// Indents each line by two spaces.
    pub fn indented(self) -> Self {
        Self { indent: 2, ..self }
    }

    /// The lines of the table, for a terminal of this width. Lines do not end with spaces.
    pub fn text(&self, width: Option<usize>) -> String {
        let widths = self.widths(width.unwrap_or(usize::MAX).saturating_sub(self.indent));
        self.rows.iter().map(|row| self.row(row, &widths)).collect::<Vec<_>>().join("\n")
    }

    /// The width of each column. `None` if the column is left out.
    fn widths(&self, limit: usize) -> [Option<usize>; N] {
        let widest = |column| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell: &String| measure_text_width(cell)).max()
        };
        let is_empty = |column: usize| {
            let mut cells = self.rows.iter().skip(1).filter_map(|row| row.get(column));
            self.omits_empty && cells.all(String::is_empty)
        };
        let mut widths: [Option<usize>; N] =
            std::array::from_fn(|column| widest(column).filter(|_| !is_empty(column)));
        let least = |widths: &[Option<usize>; N]| {
            total(widths.iter().enumerate().map(|(column, width)| {
                if self.long.contains(&column) { width.map(|it| it.min(LEAST)) } else { *width }
            }))
        };
        for &column in self.optional {
            if least(&widths) > limit {
                widths.iter_mut().skip(column).take(1).for_each(|width| *width = None);
            }
        }
        while total(widths) > limit {
            let columns = || widths.iter().enumerate().filter(|(_, width)| **width > Some(1));
            let long = columns().filter(|(column, _)| self.long.contains(column));
            let widest = long.max_by_key(|(_, width)| **width);
            let Some((column, _)) = widest.or_else(|| columns().max_by_key(|it| *it.1)) else {
                break;
            };
            widths.iter_mut().skip(column).take(1).flatten().for_each(|width| *width -= 1);
        }
        widths
    }

    fn row(&self, row: &[String; N], widths: &[Option<usize>; N]) -> String {
        let cells = row.iter().zip(widths).enumerate();
        let cells = cells.filter_map(|(column, (cell, width))| Some((column, cell, (*width)?)));
        let cells: Vec<_> = cells
            .map(|(column, cell, width)| {
                let lines = if self.wraps {
                    wrap(cell, width)
                } else if self.paths.contains(&column) {
                    vec![end_of(cell, width)]
                } else {
                    vec![truncate_str(cell, width, "…").into_owned()]
                };
                (column, width, lines)
            })
            .collect();
        let height = cells.iter().map(|(_, _, lines)| lines.len()).max().unwrap_or_default();
        let line = |at: usize| {
            let cells = cells.iter().map(|(column, width, lines)| {
                let text = lines.get(at).map(String::as_str).unwrap_or_default();
                let space = " ".repeat(width.saturating_sub(measure_text_width(text)));
                let is_number = self.numbers.contains(column);
                if is_number { format!("{space}{text}") } else { format!("{text}{space}") }
            });
            let line = cells.collect::<Vec<_>>().join(&" ".repeat(GAP));
            format!("{}{}", " ".repeat(self.indent), line.trim_end())
        };
        (0..height).map(line).collect::<Vec<_>>().join("\n")
    }
}

/// Returns the end of a text after an ellipsis, if the text is wider than `width`.
fn end_of(text: &str, width: usize) -> String {
    if measure_text_width(text) <= width {
        return text.to_owned();
    }
    let ends = text.char_indices().map(|(at, c)| &text[at + c.len_utf8()..]);
    let end = ends.into_iter().find(|end| measure_text_width(end) < width);
    format!("…{}", end.unwrap_or_default())
}

fn total(widths: impl IntoIterator<Item = Option<usize>>) -> usize {
    let shown: Vec<usize> = widths.into_iter().flatten().collect();
    shown.iter().sum::<usize>() + GAP * shown.len().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows<const N: usize, const R: usize>(rows: [[&str; N]; R]) -> Table<N> {
        Table::new(rows.map(|row| row.map(str::to_owned)))
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let table = rows([["NAME", "WHAT"], ["füchse", "x"], ["a", ""]]);
        assert_eq!(table.text(None), "NAME    WHAT\nfüchse  x\na");
        let table = rows([["狐", "🦊"], ["fox", "x"]]).numbers(&[1]);
        assert_eq!(table.text(None), "狐   🦊\nfox   x");
    }

    #[test]
    fn a_narrow_terminal_cuts_long_texts_and_leaves_out_columns() {
        let table = || {
            rows([
                ["@1", "2026-11-22", "a red fox in the snow"],
                ["@10", "2026-11-22", "狐狐狐狐狐狐狐"],
            ])
            .long(&[2])
            .optional(&[1])
        };
        let long = "@1   2026-11-22  a red fox in the snow\n@10  2026-11-22  狐狐狐狐狐狐狐";
        assert_eq!(table().text(Some(38)), long);
        assert_eq!(
            table().text(Some(30)),
            "@1   2026-11-22  a red fox in…\n@10  2026-11-22  狐狐狐狐狐狐…"
        );
        assert_eq!(table().text(Some(20)), "@1   a red fox in t…\n@10  狐狐狐狐狐狐狐");
        assert_eq!(table().text(Some(1)), "…  …\n…  …");
        let paths = rows([["@1", "pictures/雪/fox.png"]]).long(&[1]).paths(&[1]);
        assert_eq!(paths.text(Some(16)), "@1  …/雪/fox.png");
        assert_eq!(paths.text(Some(15)), "@1  …雪/fox.png");
        assert_eq!(paths.text(Some(14)), "@1  …/fox.png");
    }

    #[test]
    fn long_texts_continue_on_the_next_lines() {
        let table = rows([["ok", "the service is at https://x"], ["problem", "狐狐狐狐狐狐"]]);
        assert_eq!(
            table.wrapped(&[1]).indented().text(Some(22)),
            [
                "  ok       the service",
                "           is at",
                "           https://x",
                "  problem  狐狐狐狐狐",
                "           狐",
            ]
            .join("\n")
        );
    }
}
