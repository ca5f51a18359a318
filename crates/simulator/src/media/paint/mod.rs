//! Pictures: painted from the prompt, or edited from the images of the request, with a caption.

#![expect(clippy::indexing_slicing, reason = "within the sizes of colours, palettes and rows")]

mod canvas;
mod caption;
mod cards;
mod check;
mod deblur;
mod edit;
mod encode;
mod extend;
mod film;
mod fit;
mod holes;
mod inpaint;
mod landscape;
mod look;
mod mask;
mod noise;
mod painting;
mod palette;
mod picture;
mod prompt;
mod reader;
mod render;
mod scene;
mod settings;
mod shapes;
mod silhouette;
mod svg;
mod tables;
mod try_on;
mod vocabulary;

pub(crate) use self::check::PictureLimits;
pub(crate) use self::film::CLIP;
pub(crate) use self::picture::{Format, Picture};
pub(crate) use self::render::render;
pub(crate) use self::settings::Settings;
pub(crate) use self::try_on::person;
