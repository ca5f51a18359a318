//! Refuses requests that the contract allows, and that nobody wants to pay for: with a blank
//! prompt, with a truncated image, or without the image that the model works on.

use crate::failure::Failure;
use imagekiln::Request;
use imagekiln_batch::MissingInput;

/// What to do if the contract does not list the fields of the images.
const UNLISTED: &str = "the contract does not list the names of the fields: ask the service for \
                        them, and pass each image with --extra-image NAME=IMAGE";

/// Checks a request before anything is paid. May block, because it reads image files.
pub fn check(request: &Request) -> Result<(), Failure> {
    let missing = MissingInput::of(request);
    if missing != Some(MissingInput::Prompt) {
        request.validate()?;
        request.check_images()?;
    }
    let Some(missing) = missing else { return Ok(()) };
    let advice = match &missing {
        MissingInput::Prompt => {
            "check that a variable or a file with the prompt is not empty".to_owned()
        }
        MissingInput::Image { fields, .. } => {
            let flag = |name: &&str| format!("--{} FILE", name.replace('_', "-"));
            format!("add {}", fields.iter().map(flag).collect::<Vec<_>>().join(" or "))
        }
        _ => UNLISTED.to_owned(),
    };
    Err(Failure::request(missing.to_string()).advise(format!("nothing was sent; {advice}")))
}
