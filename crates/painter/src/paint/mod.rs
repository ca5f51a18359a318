//! Pictures: painted from the prompt, or edited from the images of the request, with a caption.

#![expect(clippy::indexing_slicing, reason = "within the sizes of colours, palettes and rows")]

mod canvas;
mod caption;
mod cards;
mod edit;
mod film;
mod fit;
mod landscape;
mod noise;
mod painting;
mod palette;
mod picture;
mod prompt;
mod reader;
mod render;
mod scene;
mod shapes;
mod silhouette;
mod tables;
mod try_on;

pub use self::film::CLIP;
pub use self::picture::{
    FinetuneTint, Format, Guidance, MAX_NAME, OperationKind, Picture, PictureLimits, Settings,
    integer,
};
pub use self::render::render;
pub use self::try_on::person;
