//! Text: made safe to print, arranged in tables, read as values, and compared with known names.

pub mod json;
pub mod parse;
pub mod sanitize;
pub mod table;
pub mod words;
