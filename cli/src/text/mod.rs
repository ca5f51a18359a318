//! Text: made safe to print, read as values, and compared with known names.

pub mod json;
pub mod parse;
pub mod sanitize;
pub mod words;
