//! The programs of the book, which are compiled and run with the documentation's tests.

#[doc = include_str!("../docs/first-program.md")]
mod first_program {}

#[doc = include_str!("../docs/making.md")]
mod making {}

#[doc = include_str!("../docs/video.md")]
mod video {}

#[doc = include_str!("../docs/simulator.md")]
mod simulator {}
