//! What operations make, and the images that they are given.

mod completeness;
pub(crate) mod images;
pub(crate) mod paint;
mod text;
pub(crate) mod video;
