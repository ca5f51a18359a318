//! Text: making it safe to print, arranging it in tables, and reading values from it.

mod expected;
mod fit;
pub mod json;
pub mod parse;
mod sanitize;
mod table;
mod times;

pub use self::{
    expected::Expected,
    fit::{brief, coloured, fitting, wrapped},
    sanitize::{one_line, printable, printable_lines, quoted},
    table::Table,
    times::{Clock, deadline, duration, now, rfc3339, seconds, time_at, when},
};
