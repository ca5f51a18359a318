//! Files that people edit, copy and share.

use imagekiln::{fuzzing::read_log, recording::Recording};
use imagekiln_cli::fuzzing;

use crate::exchange::SECRET;

/// A recording that is read is the same after it was written.
pub fn recording(data: &[u8]) {
    let Ok(recording) = serde_json::from_slice::<Recording>(data) else { return };
    let text = serde_json::to_string(&recording).expect("JSON");
    assert_eq!(serde_json::from_str::<Recording>(&text).expect("a recording"), recording);
}

/// A submission of the history, or of an old one, has the same state after it was written, and is
/// written as before.
pub fn history(data: &[u8]) {
    let Some((state, text)) = fuzzing::history(data) else { return };
    assert_eq!(fuzzing::history(&text), Some((state, text)));
}

/// A log has the same records after a compaction. If a write is interrupted anywhere, all complete
/// lines before it are still read, whether zeros follow or nothing.
pub fn journal(data: &[u8]) {
    let read = read_log(data);
    assert!(read.complete <= data.len());
    let complete = read_log(&data[..read.complete]);
    assert_eq!((&complete.records, complete.complete), (&read.records, read.complete));
    let compacted = &read.compacted;
    let again = read_log(compacted);
    assert_eq!((&again.records, again.complete), (&read.records, compacted.len()));
    assert_eq!(again.compacted, *compacted);
    let cut = data.len() * 7919 % (compacted.len() + 1);
    let written = &compacted[..cut];
    let lines = written.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    for torn in [written.to_vec(), [written, &[0; 8]].concat(), [written, b"\0{}\n"].concat()] {
        let torn = read_log(&torn);
        assert_eq!(torn.complete, lines);
        assert_eq!(torn.records, read.records[..torn.records.len()]);
    }
}

/// An error of `config.toml` names a line of it, has no control characters, and does not quote a
/// value.
pub fn config_file(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let Err(error) = fuzzing::config(text) else { return };
    assert!(!error.contains(|c: char| c.is_control() && c != '\n'), "{error:?}");
    let line = error.split_once(", line ").and_then(|(_, rest)| rest.split_once(':'));
    let line: usize = line.and_then(|(line, _)| line.parse().ok()).expect("a line");
    assert!((1..=text.matches('\n').count() + 1).contains(&line), "line {line}");
    let is_value = |line: &str| match (line.find('='), line.find(SECRET)) {
        (_, None) => true,
        (Some(equals), Some(at)) => equals < at && !line.contains('{'),
        (None, Some(_)) => false,
    };
    if text.lines().all(is_value) {
        assert!(!error.contains(SECRET), "{error}");
    }
}
