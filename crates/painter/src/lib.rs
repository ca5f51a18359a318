#![doc = include_str!("../README.md")]

pub mod images;
pub mod paint;
mod text;
pub mod video;
