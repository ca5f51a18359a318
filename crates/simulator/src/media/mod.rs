//! What operations make, and the images that they are given.

pub(crate) mod images;
pub(crate) mod paint;
mod text;
pub(crate) mod video;
