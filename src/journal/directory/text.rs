//! The format of the file of a record: text that a person can read.
//!
//! Each line is a JSON object that begins with a checksum of its bytes. The first line is a record,
//! and is never changed. If the record is open, three lines of a fixed length follow, padded with
//! spaces:
//!
//! 1. the process that owns the record;
//! 2. the acceptance, or that the response was lost;
//! 3. the last change after the acceptance.
//!
//! These three lines are written in place. This needs no new space, so it works on a full disk, and
//! an interrupted write damages no other line.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest as _, Sha256};

use crate::{
    journal::{Record, record::Life},
    values::hash::hex,
};

/// A line with a fixed length: the number of bytes between the first line and this one, and its
/// length.
type Slot = (usize, usize);

/// The lines after the first one. The last two may contain a polling URL or a path. If such a line
/// does not fit, the whole file is replaced.
const OWNER: Slot = (0, 128);
const ACCEPTANCE: Slot = (128, 4096);
const CHANGE: Slot = (128 + 4096, 4096);

/// The first characters of a line, which are followed by the checksum and the rest of the object.
const BEGIN: &str = r#"{"check":""#;
/// The length of a checksum in characters.
const CHECK: usize = 16;

/// What a file contains.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Content {
    pub(super) record: Record,
    /// The name of the process that owns the record.
    pub(super) owner: Option<String>,
    /// The length of the first line, if other lines follow.
    first: Option<usize>,
    /// Whether the record has a task. Until then, changes are written to the line of the
    /// acceptance, and afterwards to the last line.
    is_accepted: bool,
    /// Whether the file contains bytes that cannot be parsed.
    pub(super) is_damaged: bool,
}

#[derive(Serialize, Deserialize)]
struct Owner {
    process: String,
}

/// Returns the text of a record. The text of an open record includes its owner and the space for
/// its changes.
pub(super) fn write(record: &Record, owner: Option<&str>) -> serde_json::Result<Vec<u8>> {
    let mut text = write_one(record)?;
    if !record.state().is_closed() {
        let owner = owner.map(|name| line(&Owner { process: name.to_owned() })).transpose()?;
        let owner = (owner.unwrap_or_default(), OWNER);
        for (line, (_, length)) in [owner, (Vec::new(), ACCEPTANCE), (Vec::new(), CHANGE)] {
            // The name of a process always fits.
            text.extend(padded(line, length).unwrap_or_default());
        }
    }
    Ok(text)
}

/// Returns the text of a file with one line.
pub(super) fn write_one(value: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut text = line(value)?;
    text.push(b'\n');
    Ok(text)
}

/// Returns the value in a file with one line. `None` if it is damaged.
pub(super) fn read_one<T: DeserializeOwned>(text: &[u8]) -> Option<T> {
    parse(text.strip_suffix(b"\n")?)
}

/// Reads a file. Fails with the reason if its first line is damaged.
pub(super) fn read(text: &[u8]) -> Result<Content, &'static str> {
    if text.is_empty() {
        return Err("it is empty");
    }
    let end = text.iter().position(|byte| *byte == b'\n').ok_or("its first line is incomplete")?;
    let (first, rest) = text.split_at(end + 1);
    let record: Record = parse(first.trim_ascii_end()).ok_or("its first line is damaged")?;
    let mut content = Content {
        record,
        owner: None,
        first: (!rest.is_empty()).then_some(first.len()),
        is_accepted: false,
        is_damaged: false,
    };
    if rest.is_empty() {
        content.is_damaged = !content.record.state().is_closed();
        return Ok(content);
    }
    content.is_damaged = rest.len() > CHANGE.0 + CHANGE.1;
    for (before, length) in [OWNER, ACCEPTANCE, CHANGE] {
        let line = rest.get(before..before + length).filter(|line| line.ends_with(b"\n"));
        let is_understood =
            line.is_some_and(|line| content.add((before, length), line.trim_ascii_end()));
        content.is_damaged |= !is_understood;
    }
    Ok(content)
}

impl Content {
    /// Adds the content of a line. Returns `false` if the line cannot be parsed.
    fn add(&mut self, slot: Slot, line: &[u8]) -> bool {
        if line.is_empty() {
            return true;
        }
        if slot == OWNER {
            self.owner = parse::<Owner>(line).map(|owner| owner.process);
            return self.owner.is_some();
        }
        let Some(life) = parse::<Life>(line) else { return false };
        // The lines are in the order in which they are first written, so a later line replaces an
        // earlier one.
        self.record.life = life;
        self.is_accepted = self.record.task().is_some();
        true
    }

    /// Returns the line that stores the changes of a record, with its position. `None` if the file
    /// does not have the space for the line.
    pub(super) fn change(&self, record: &Record) -> serde_json::Result<Option<(u64, Vec<u8>)>> {
        let slot = if self.is_accepted { CHANGE } else { ACCEPTANCE };
        self.line_of(slot, line(&record.life)?)
    }

    /// Returns the line that names an owner, with its position. `None` if the file does not have
    /// the space for the line.
    pub(super) fn claim(&self, owner: &str) -> serde_json::Result<Option<(u64, Vec<u8>)>> {
        self.line_of(OWNER, line(&Owner { process: owner.to_owned() })?)
    }

    fn line_of(
        &self,
        (before, length): Slot,
        line: Vec<u8>,
    ) -> serde_json::Result<Option<(u64, Vec<u8>)>> {
        let place = self.first.filter(|_| !self.is_damaged).map(|first| (first + before) as u64);
        Ok(place.zip(padded(line, length)))
    }
}

/// Returns a line without padding and without a line feed.
fn line(value: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let object = serde_json::to_string(value)?;
    let members = object.strip_prefix('{').unwrap_or_default();
    Ok(format!("{BEGIN}{}\",{members}", check(object.as_bytes())).into_bytes())
}

/// Returns the value of a line, or `None` if the line is damaged.
fn parse<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    let (check, rest) = line.strip_prefix(BEGIN.as_bytes())?.split_at_checked(CHECK)?;
    let object = [b"{", rest.strip_prefix(b"\",")?].concat();
    if check != self::check(&object).as_bytes() {
        return None;
    }
    serde_json::from_slice(&object).ok()
}

/// The first 64 bits of the SHA-256 digest in lowercase hexadecimal.
fn check(bytes: &[u8]) -> String {
    let mut digits = hex(Sha256::new().chain_update(bytes));
    digits.truncate(CHECK);
    digits
}

/// Returns a line padded to a fixed length, or `None` if the line is too long.
fn padded(mut line: Vec<u8>, length: usize) -> Option<Vec<u8>> {
    if line.len() >= length {
        return None;
    }
    line.resize(length - 1, b' ');
    line.push(b'\n');
    Some(line)
}
