//! What the request of a tool needs besides what the contract says that its models need. Nobody
//! wants to pay for a request without it.

use serde_json::{Map, Value};

use crate::failure::Failure;
use imagekiln::Request;
use imagekiln_batch::count_images;

/// The fields that a tool needs, and the error if they are missing.
pub struct Need {
    pub rule: Rule,
    pub problem: &'static str,
    pub advice: &'static str,
}

/// Numbers that are zero count as not set.
pub enum Rule {
    /// All of these fields.
    All(&'static [&'static str]),
    /// At least one of these fields.
    Any(&'static [&'static str]),
}

impl Need {
    pub fn check(&self, request: &Request) -> Result<(), Failure> {
        let body = request.outline();
        let is_met = match self.rule {
            Rule::All(names) => names.iter().all(|name| is_set(&body, name)),
            Rule::Any(names) => names.iter().any(|name| is_set(&body, name)),
        };
        if is_met {
            Ok(())
        } else {
            let advice = format!("nothing was sent; {}", self.advice);
            Err(Failure::request(self.problem).advise(advice))
        }
    }
}

fn is_set(body: &Map<String, Value>, name: &str) -> bool {
    body.get(name).is_some_and(|value| !value.is_null() && *value != 0)
}

/// The field that says whether a video is made from images.
pub const MODE: &str = "mode";

/// The mode of a video, which depends on whether there are images.
pub struct Modes {
    pub with_images: &'static str,
    pub without: &'static str,
}

impl Modes {
    /// Sets the mode unless it is given. Refuses the mode that does not fit the images.
    pub fn set(&self, request: Request) -> Result<Request, Failure> {
        let has_images = count_images(&request) > 0;
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
