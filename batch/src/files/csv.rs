//! CSV: a header with the names of fields, and a record per job.

use std::{
    io::{self, BufRead, Read},
    mem,
};

use csv::{ReaderBuilder, StringRecord, Terminator};

use super::{
    draft::{Cell, Draft, check_key},
    lines::{LONGEST, Line, Lines},
    planner::Planner,
};

const NEVER_CLOSED: &str = "has a quote that is never closed";

pub(super) fn read(input: impl BufRead, planner: &mut Planner<'_>) -> io::Result<()> {
    let mut records = Records(Lines::new(input));
    let header = loop {
        match records.next()? {
            None => return Ok(()),
            Some((_, Ok(cells))) if is_blank(&cells) => {}
            Some((line, cells)) => match cells.and_then(|cells| header_of(&cells)) {
                Ok(header) => break header,
                // Without a header, the records have no meaning.
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

/// Spreadsheets also export empty rows, as commas.
fn is_blank(cells: &StringRecord) -> bool {
    cells.iter().all(str::is_empty)
}

fn header_of(cells: &StringRecord) -> Result<Vec<String>, String> {
    let names: Vec<String> = cells.iter().map(|name| name.trim().to_owned()).collect();
    for (index, name) in names.iter().enumerate() {
        if name.is_empty() {
            return Err(format!("column {} has no name", index + 1));
        }
        if names.iter().take(index).any(|other| other == name) {
            return Err(format!("two columns have the name `{name}`"));
        }
        check_key(name).map_err(|problem| {
            if name.contains([';', '\t']) {
                format!("{problem}; separate the columns by commas")
            } else {
                problem
            }
        })?;
    }
    Ok(names)
}

fn record(line: u64, header: &[String], cells: &StringRecord, planner: &mut Planner<'_>) {
    if cells.len() != header.len() {
        let (cells, columns) = (cells.len(), header.len());
        return planner.problem(
            line,
            format!("number of cells: is {cells}; must be {columns}, as in the header"),
        );
    }
    let mut draft = Draft::new(line);
    let filled = header.iter().zip(cells).filter(|(_, text)| !text.is_empty());
    let set = filled.map(|(key, text)| draft.set(key, Cell::Text(text.to_owned())));
    let problems: Vec<String> = set.filter_map(Result::err).collect();
    planner.add_unless(draft, problems);
}

/// Splits the input into records, and leaves their cells to the CSV parser. The parser alone would
/// report other line numbers after CRLF and blank lines, read a record of any length, and accept a
/// quote that is never closed.
struct Records<R>(Lines<R>);

impl<R: BufRead> Records<R> {
    /// Returns the next record and the line where it starts.
    fn next(&mut self) -> io::Result<Option<(u64, Result<StringRecord, String>)>> {
        let Some(first) = self.0.next()? else { return Ok(None) };
        let line = first.number;
        let mut text = match first.text {
            Ok(text) => text,
            Err(problem) => return Ok(Some((line, Err(problem)))),
        };
        let mut ending = first.ending;
        let mut place = Place::CellStart.after(&text);
        while place == Place::Quoted {
            let more = match self.0.next()? {
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
        Ok(Some((line, parse(&text))))
    }
}

fn parse(text: &str) -> Result<StringRecord, String> {
    // The parser skips the empty line. Without it, the parser would remove a byte order mark, which
    // is part of the text here.
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

/// The place in a record, in the terms of the parser.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    CellStart,
    Unquoted,
    Quoted,
    /// After a quote within a quoted cell: its end, or the first half of an escaped quote.
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
