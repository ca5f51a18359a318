//! What a terminal shows besides lines: colours, and the line with the current step.

pub mod live;
pub mod paint;
pub mod spinner;
