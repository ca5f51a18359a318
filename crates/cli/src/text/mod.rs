//! Text: making it safe to print, arranging it in tables, and reading values from it.

pub mod expected;
pub mod fit;
pub mod json;
pub mod parse;
pub mod sanitize;
pub mod table;
pub mod times;
