//! Text: made safe to print, arranged in tables, digested, and read as values.

pub mod digest;
pub mod expected;
pub mod json;
pub mod parse;
pub mod sanitize;
pub mod table;
