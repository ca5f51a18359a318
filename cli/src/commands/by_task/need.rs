//! The fields that a task needs although the contract leaves them optional. Nobody wants to pay for
//! a task without them.

use serde_json::{Map, Value};

use super::alpha;
use crate::failure::Failure;
use imagekiln::{ImageInput, Request};

/// The field of the mask.
pub const MASK: &str = "mask";

/// The fields that a task needs, and the error if they are missing.
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
    /// A mask, unless the image may have an alpha channel.
    MaskOrAlpha,
}

impl Need {
    /// Checks a request. `image` is the image that it works on.
    pub fn check(&self, request: &Request, image: Option<&ImageInput>) -> Result<(), Failure> {
        let body = request.outline();
        let is_met = match self.rule {
            Rule::All(names) => names.iter().all(|name| is_set(&body, name)),
            Rule::Any(names) => names.iter().any(|name| is_set(&body, name)),
            Rule::MaskOrAlpha => {
                is_set(&body, MASK) || image.is_none_or(alpha::may_have_alpha_channel)
            }
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
