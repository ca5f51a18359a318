//! CSV and TSV: a header with the names of the columns, and one record per job.

use std::{
    io::{self, BufRead, Read},
    mem,
};

use csv::{ReaderBuilder, StringRecord, Terminator};

use super::{
    draft::{Cell, Draft},
    lines::{BARE_CR, LONGEST, Line, Lines},
    planner::Planner,
};
use crate::text::one_line;

const NEVER_CLOSED: &str = "has a quote that is never closed";

pub fn read(input: impl BufRead, is_tsv: bool, planner: &mut Planner<'_>) -> io::Result<()> {
    let mut lines = Lines::new(input);
    lines.keeps_cr = !is_tsv;
    let mut records = Records { lines, is_tsv };
    let header = loop {
        match records.next()? {
            None => return Ok(()),
            Some((_, Ok(cells))) if is_blank(&cells) => {}
            Some((line, cells)) => match cells.and_then(|cells| Header::of(&cells, planner)) {
                Ok(header) => break header,
                // Without a valid header, nobody knows what the cells of the records mean.
                Err(problem) => {
                    planner.problem(line, problem);
                    return Ok(());
                }
            },
        }
    };
    while let Some((line, cells)) = records.next()? {
        match cells {
            Ok(cells) if is_blank(&cells) => {}
            Ok(cells) => record(line, &header, &cells, planner),
            Err(problem) => planner.problem(line, problem),
        }
    }
    Ok(())
}

/// Whether a record has only empty cells. Spreadsheets export empty rows as lines of commas.
fn is_blank(cells: &StringRecord) -> bool {
    cells.iter().all(str::is_empty)
}

struct Header {
    names: Vec<String>,
    /// The name of the column with the prompt, if it is not `prompt`.
    prompt: Option<String>,
}

impl Header {
    fn of(cells: &StringRecord, planner: &mut Planner<'_>) -> Result<Self, String> {
        // Some programs export the index of each row as a column without a name.
        let name = |(index, name): (usize, &str)| match name.trim() {
            "" => format!("column {}", index + 1),
            name => name.to_owned(),
        };
        let names: Vec<String> = cells.iter().enumerate().map(name).collect();
        for (index, name) in names.iter().enumerate() {
            if names.iter().take(index).any(|other| other == name) {
                return Err(format!("two columns have the name `{}`", one_line(name)));
            }
        }
        if let [name] = &names[..]
            && name.contains([';', '\t'])
        {
            let problem = format!("the header has a single column, `{}`", one_line(name));
            return Err(format!("{problem}; separate columns by commas, or by tabs in a TSV file"));
        }
        let prompt = planner.prompt_among(names.iter().map(String::as_str))?;
        Ok(Self { names, prompt })
    }
}

fn record(line: u64, header: &Header, cells: &StringRecord, planner: &mut Planner<'_>) {
    if cells.len() != header.names.len() {
        let (cells, columns) = (cells.len(), header.names.len());
        return planner.problem(
            line,
            format!("number of cells: is {cells}; must be {columns}, as in the header"),
        );
    }
    let mut draft = Draft { line, ..Draft::default() };
    let filled = header.names.iter().zip(cells).filter(|(_, text)| !text.is_empty());
    let set = filled.map(|(key, text)| {
        draft.set_by(header.prompt.as_deref(), key, Cell::Text(text.to_owned()))
    });
    let problems: Vec<String> = set.filter_map(Result::err).collect();
    planner.add_unless(draft, problems);
}

/// Splits the input into records, and leaves it to the CSV parser to split a record into cells.
/// Given the whole input, the parser would report other line numbers after CRLF and blank lines,
/// read a record of any length, and accept a quote that is never closed.
struct Records<R> {
    lines: Lines<R>,
    is_tsv: bool,
}

impl<R: BufRead> Records<R> {
    /// Returns the next record with the number of the line on which it starts.
    fn next(&mut self) -> io::Result<Option<(u64, Result<StringRecord, String>)>> {
        let Some(first) = self.lines.next()? else { return Ok(None) };
        let line = first.number;
        let mut text = match first.text {
            Ok(text) => text,
            Err(problem) => return Ok(Some((line, Err(problem)))),
        };
        if self.is_tsv {
            return Ok(Some((line, tsv_cells(&text))));
        }
        let mut ending = first.ending;
        let mut place = Place::CellStart.after(&text);
        while place == Place::Quoted {
            let more = match self.lines.next()? {
                Some(Line { text: Ok(more), ending, .. }) => (more, ending),
                Some(Line { text: Err(problem), number, .. }) => {
                    return Ok(Some((number, Err(problem))));
                }
                None => return Ok(Some((line, Err(NEVER_CLOSED.to_owned())))),
            };
            text += mem::replace(&mut ending, more.1);
            text += &more.0;
            if text.len() > LONGEST {
                return Ok(Some((line, Err(NEVER_CLOSED.to_owned()))));
            }
            place = place.after(&more.0);
        }
        let cells = if has_bare_cr(&text) { Err(BARE_CR.to_owned()) } else { parse(&text) };
        Ok(Some((line, cells)))
    }
}

/// Splits a line of a TSV file at its tabs. Some programs quote cells as in CSV, and others never
/// do, so quotation marks are only removed if they surround the whole cell.
fn tsv_cells(line: &str) -> Result<StringRecord, String> {
    let cells = line.split('\t').map(|cell| match cell.strip_prefix('"') {
        Some(rest) if !rest.contains('"') => Err(NEVER_CLOSED.to_owned()),
        Some(rest) => Ok(match rest.strip_suffix('"').map(|text| text.replace("\"\"", "\0")) {
            // NUL can stand for an escaped quote in the meantime, because no line contains a NUL.
            Some(text) if !text.contains('"') => text.replace('\0', "\""),
            _ => cell.to_owned(),
        }),
        None => Ok(cell.to_owned()),
    });
    cells.collect::<Result<Vec<_>, _>>().map(StringRecord::from)
}

/// Whether a record has a carriage return outside quotes.
fn has_bare_cr(text: &str) -> bool {
    let mut place = Place::CellStart;
    text.split_inclusive('\r').any(|part| {
        place = place.after(part);
        part.ends_with('\r') && place != Place::Quoted
    })
}

fn parse(text: &str) -> Result<StringRecord, String> {
    // The parser skips this empty line. If the record came first, the parser would remove a byte
    // order mark from it. `Lines` has already removed that of the file, so this one is part of the
    // text.
    let text = b"\n".chain(text.as_bytes());
    let mut cells = StringRecord::new();
    ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .terminator(Terminator::Any(b'\n'))
        .from_reader(text)
        .read_record(&mut cells)
        .map_err(|error| format!("is not valid CSV: {error}"))?;
    Ok(cells)
}

/// The state of the CSV parser after some part of a record.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    CellStart,
    Unquoted,
    Quoted,
    /// After a quote within a quoted cell: the end of the cell, or the first half of an escaped
    /// quote.
    Quote,
}

impl Place {
    fn after(self, text: &str) -> Self {
        text.bytes().fold(self, |place, byte| match (place, byte) {
            (Self::Quoted, b'"') => Self::Quote,
            (Self::Quoted, _) | (Self::CellStart | Self::Quote, b'"') => Self::Quoted,
            (_, b',') => Self::CellStart,
            _ => Self::Unquoted,
        })
    }
}
