//! Text: made safe to print, arranged in tables, and read as values.

pub mod expected;
pub mod fit;
pub mod json;
pub mod parse;
pub mod sanitize;
pub mod table;
pub mod times;
