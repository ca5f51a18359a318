//! The journal of a client.

use imagekiln::fuzzing::read_journal;

/// A journal that is read has the same entries after a compaction. If a write is interrupted
/// anywhere, it still has all complete records.
pub fn journal(data: &[u8]) {
    let read = match read_journal(data) {
        Ok(read) => read,
        Err(line) => {
            let lines = data.split_inclusive(|byte| *byte == b'\n').count();
            return assert!((1..=lines).contains(&line), "line {line} of {lines}");
        }
    };
    assert!(read.complete <= data.len());
    let complete = read_journal(&data[..read.complete]).expect("all records are complete");
    assert_eq!(complete.entries, read.entries);
    let again = read_journal(&read.compacted).expect("a journal after a compaction");
    assert_eq!((&again.entries, again.complete), (&read.entries, read.compacted.len()));
    let cut = data.len() * 7919 % (read.compacted.len() + 1);
    let torn = read_journal(&read.compacted[..cut]).expect("an interrupted write");
    assert!(torn.entries.len() <= again.entries.len());
    assert!(torn.complete <= cut);
    let broken = [&read.compacted[..], b"{\"accep"].concat();
    if !read.compacted.is_empty() {
        let torn = read_journal(&broken).expect("an interrupted write");
        assert_eq!((torn.entries, torn.complete), (read.entries, read.compacted.len()));
    }
}
