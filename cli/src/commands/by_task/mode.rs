//! The mode of a video, which depends on whether there are images.

use crate::{failure::Failure, plausible};
use imagekiln::Request;

/// The field.
pub const MODE: &str = "mode";

/// The two modes.
pub struct Modes {
    pub with_images: &'static str,
    pub without: &'static str,
}

impl Modes {
    /// Sets the mode unless it is given. Refuses the mode that does not fit the images.
    pub fn set(&self, request: Request) -> Result<Request, Failure> {
        let has_images = request.outline().values().map(plausible::images).sum::<usize>() > 0;
        let (fitting, other) = if has_images {
            (self.with_images, self.without)
        } else {
            (self.without, self.with_images)
        };
        if request.text(MODE) == Some(other) {
            let what = if has_images { "without images" } else { "with images" };
            let has = if has_images { "has images" } else { "has none" };
            let problem = format!("`{other}` is the mode {what}, and the request {has}");
            let advice = format!("nothing was sent; leave --mode out, or use --mode {fitting}");
            return Err(Failure::request(problem).advise(advice));
        }
        Ok(if request.has_field(MODE) { request } else { request.field(MODE, fitting) })
    }
}
