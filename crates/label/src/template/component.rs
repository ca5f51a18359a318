//! The components of paths: what they cannot contain, and how values are made safe.

use crate::sha256;

/// The maximum length of a component of a path in bytes. Filesystems allow 255, and the files next
/// to a picture have longer names.
pub const MAX_COMPONENT: usize = 200;

/// The maximum length of an extension that is kept when a name is shortened.
const LONGEST_EXTENSION: usize = 16;

/// The number of hexadecimal digits of a hash in a name that had to be changed.
const HASH: usize = 8;

/// Characters that file names cannot contain on Windows, except for control characters.
pub(super) const FORBIDDEN: [char; 9] = ['/', '\\', ':', '*', '?', '"', '<', '>', '|'];

/// The names of devices on Windows, with any extension. `1` stands for any digit.
const DEVICES: [&str; 8] = ["con", "prn", "aux", "nul", "com1", "lpt1", "conin$", "conout$"];

/// The prefix of temporary files. The client deletes files with this prefix that a killed process
/// has left behind.
const TEMPORARY: &str = ".imagekiln-";

/// Refuses a component of a path that would lead to another directory, or that cannot be the name
/// of a file.
///
/// # Errors
///
/// The text says what is wrong with the component.
pub fn check_component(component: &str) -> Result<(), String> {
    check_text(component)?;
    if component.len() > MAX_COMPONENT {
        Err("it has a component of more than 200 bytes".to_owned())
    } else {
        Ok(())
    }
}

/// Like [`check_component`], but accepts a component of any length, because rendering shortens it.
pub(super) fn check_text(component: &str) -> Result<(), String> {
    let problem = match component {
        "" => "it has an empty component",
        "." | ".." => "it contains `.` or `..` as a component",
        text if text.chars().any(char::is_control) => "it contains a control character",
        text if text.starts_with(TEMPORARY) => {
            "names that start with `.imagekiln-` are those of temporary files"
        }
        _ => return Ok(()),
    };
    Err(problem.to_owned())
}

pub(super) fn is_json(path: &str) -> bool {
    path.as_bytes().last_chunk().is_some_and(|end: &[u8; 5]| end.eq_ignore_ascii_case(b".json"))
}

/// Makes a component of a rendered name safe.
pub(super) fn safe(component: &str) -> String {
    let mut name = trimmed(component).to_owned();
    let stem = name.find('.').unwrap_or(name.len());
    if is_device(name[..stem].trim_end()) {
        name.insert(stem, '_');
    }
    let mut name = distinct(&lasting(&name));
    if is_json(&name) {
        let dot = name.len() - ".json".len();
        name.replace_range(dot..=dot, "-");
    }
    if name.is_empty() { "_".to_owned() } else { name }
}

/// Changes a name that looks like the name of a temporary file, so that nobody deletes the file as
/// one.
pub(super) fn lasting(name: &str) -> String {
    match name.strip_prefix('.') {
        Some(rest) if name.starts_with(TEMPORARY) => format!("_{rest}"),
        _ => name.to_owned(),
    }
}

/// Windows removes dots and spaces at the end of names.
fn trimmed(name: &str) -> &str {
    name.trim_end_matches(['.', ' ']).trim_start_matches(' ')
}

fn is_device(stem: &str) -> bool {
    let stem = stem.to_lowercase();
    // Windows also accepts superscript digits.
    let digit = |c: char| c.is_ascii_digit() || matches!(c, '¹' | '²' | '³');
    let stem = match stem.strip_suffix(digit) {
        Some(port) => format!("{port}1"),
        None => stem,
    };
    DEVICES.contains(&stem.as_str())
}

/// Shortens a name that is too long, and adds its hash, so that different names stay different.
fn distinct(name: &str) -> String {
    if name.len() <= MAX_COMPONENT {
        return name.to_owned();
    }
    let (_, extension) = split(name);
    let short = shortened(name, MAX_COMPONENT - HASH - 1);
    let stem = short.strip_suffix(extension).unwrap_or(&short);
    format!("{stem}-{}{extension}", hash(name))
}

/// Shortens a file name to `longest` bytes, and keeps its extension.
pub fn shortened(name: &str, longest: usize) -> String {
    if name.len() <= longest {
        return name.to_owned();
    }
    let (stem, extension) = split(name);
    let stem = start(stem, longest - extension.len());
    format!("{}{extension}", trimmed(stem))
}

/// Splits a name into its stem and its extension.
fn split(name: &str) -> (&str, &str) {
    match name.rfind('.') {
        Some(dot) if name.len() - dot <= LONGEST_EXTENSION => name.split_at(dot),
        _ => (name, ""),
    }
}

fn hash(text: &str) -> String {
    sha256(text.as_bytes()).chars().take(HASH).collect()
}

/// Makes a value safe, and keeps letters of all languages.
pub(super) fn text(value: &str, longest: usize, otherwise: &str) -> String {
    let is_safe = |c: char| !c.is_control() && !is_directional(c) && !FORBIDDEN.contains(&c);
    let value = value.chars().map(|c| if is_safe(c) { c } else { '-' });
    bounded(value.collect(), longest, otherwise)
}

/// Makes a value safe, and keeps only ASCII letters, digits, `-`, `_` and `.`.
pub(super) fn plain(value: &str, longest: usize, otherwise: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let value = value.chars().map(|c| if is_plain(c) { c } else { '-' });
    bounded(value.collect(), longest, otherwise)
}

/// Makes an id safe like [`plain`]. An id that had to be changed gets a hash, so that different ids
/// stay different.
pub(super) fn id(value: &str, longest: usize, otherwise: &str) -> String {
    let safe = plain(value, longest, otherwise);
    if safe == value || value.is_empty() {
        return safe;
    }
    format!("{}-{}", plain(value, longest - HASH - 1, otherwise), hash(value))
}

fn bounded(value: String, longest: usize, otherwise: &str) -> String {
    // A dot at the start hides a file on Unix.
    let ends = ['.', ' ', '-'];
    let value = value.trim_matches(ends);
    let value = start(value, longest).trim_end_matches(ends);
    if value.is_empty() { otherwise.to_owned() } else { value.to_owned() }
}

/// Returns at most `longest` bytes of the text, without a part of a character.
pub(super) fn start(text: &str, longest: usize) -> &str {
    let end = (0..=longest.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or_default()]
}

/// Whether a character changes the direction of text, so that another extension could be shown.
fn is_directional(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
