//! Refuses requests that the contract allows, and that nobody wants to pay for: with a blank
//! prompt, with a truncated image, or without the image that the model works on.

use std::{
    fs::File,
    io::{BufRead, BufReader, Cursor, Seek},
};

use image::{ImageDecoder as _, ImageReader};
use serde_json::{Map, Value};

use crate::{args::prompt::PROMPT, failure::Failure, text::words::counted};
use imagekiln::{FieldKind, ImageInput, NeedKind, Operation, Request};

/// Text of this length in an unlisted field may be base64, so it counts as an image.
const LONG_TEXT: usize = 256;

/// Checks a request before anything is paid. May block, because it reads image files.
pub fn check(request: &Request) -> Result<(), Failure> {
    let body = request.outline();
    blank_prompt(&body)?;
    request.validate()?;
    request.check_images()?;
    missing_image(request, &body)
}

/// Checks a valid request of a batch. Does not read images completely, because there may be many.
pub fn check_job(request: &Request) -> Result<(), Failure> {
    let body = request.outline();
    blank_prompt(&body)?;
    missing_image(request, &body)
}

fn blank_prompt(body: &Map<String, Value>) -> Result<(), Failure> {
    let prompt = body.get(PROMPT).and_then(Value::as_str);
    if prompt.is_some_and(|prompt| prompt.trim().is_empty()) {
        Err(Failure::request("the prompt is empty").advise(
            "nothing was sent; check that a variable or a file with the prompt is not empty",
        ))
    } else {
        Ok(())
    }
}

/// Checks the images that the contract says the model needs (`x-needs`). Other fields may be
/// optional after all: the interface does not show which ones are required.
fn missing_image(request: &Request, body: &Map<String, Value>) -> Result<(), Failure> {
    let model = request.operation();
    for need in model.needs {
        let (what, advice) = match need.kind {
            NeedKind::AnyOf { fields, unless_alpha_in, .. } => {
                let image = unless_alpha_in.and_then(|name| request.image_in(name));
                let is_set = |name: &&str| body.get(*name).is_some_and(|value| !value.is_null());
                if !fields.iter().all(|name| takes_image(model, name))
                    || fields.iter().any(is_set)
                    || image.is_some_and(may_have_alpha_channel)
                {
                    continue;
                }
                let flag = |name: &&str| format!("--{} FILE", name.replace('_', "-"));
                let flags: Vec<_> = fields.iter().map(flag).collect();
                let names = fields.join("` or `");
                let message = match unless_alpha_in {
                    Some(image) => format!("`{names}`, because `{image}` has no alpha channel"),
                    None => format!("`{names}` ({}), which is not set", need.why),
                };
                (message, format!("add {}", flags.join(" or ")))
            }
            NeedKind::Images { count, .. } => {
                let given = body.values().map(images).sum::<usize>() as u64;
                if given >= count {
                    continue;
                }
                let images = counted(count, "image");
                let message = format!("{images} ({}), and the request has {given}", need.why);
                (message, UNLISTED.to_owned())
            }
            _ => continue,
        };
        let message = format!("{model} needs {what}");
        return Err(Failure::request(message).advise(format!("nothing was sent; {advice}")));
    }
    Ok(())
}

fn takes_image(model: &Operation, name: &str) -> bool {
    model.field(name).is_some_and(|field| matches!(field.kind, FieldKind::Image { .. }))
}

/// What to do if the contract does not list the fields of the images.
const UNLISTED: &str = "the contract does not list the names of the fields: ask the service for \
                        them, and pass each image with --extra-image NAME=IMAGE";

/// The number of images in a value of an outline, including text that may be an image.
pub fn images(value: &Value) -> usize {
    match value {
        Value::String(text) => {
            let is_url = ["http://", "https://", "data:"].iter().any(|head| text.starts_with(head));
            usize::from(is_url || text.len() >= LONG_TEXT)
        }
        Value::Array(items) => items.iter().map(images).sum(),
        Value::Object(members) if is_image(members) => 1,
        Value::Object(members) => members.values().map(images).sum(),
        _ => 0,
    }
}

/// Whether this is how an outline describes an image.
fn is_image(members: &Map<String, Value>) -> bool {
    members.contains_key("bytes") || (members.len() == 1 && members.contains_key("url"))
}

/// Returns `false` only if the image certainly has no alpha channel. Reads the header, and may
/// block.
fn may_have_alpha_channel(image: &ImageInput) -> bool {
    let found = match image {
        ImageInput::Path(path) => {
            File::open(path).ok().and_then(|file| has_alpha_channel(BufReader::new(file)))
        }
        ImageInput::Bytes(bytes) => has_alpha_channel(Cursor::new(bytes)),
        _ => None,
    };
    found.unwrap_or(true)
}

fn has_alpha_channel(image: impl BufRead + Seek) -> Option<bool> {
    let decoder = ImageReader::new(image).with_guessed_format().ok()?.into_decoder().ok()?;
    Some(decoder.color_type().has_alpha())
}

#[cfg(test)]
mod tests {
    use image::{DynamicImage, ImageFormat, Rgb, RgbImage, RgbaImage};

    use super::*;
    use imagekiln_testbed::picture::encoded;

    fn found(image: &[u8]) -> Option<bool> {
        has_alpha_channel(Cursor::new(image))
    }

    fn opaque() -> DynamicImage {
        RgbImage::from_pixel(8, 8, Rgb([1, 2, 3])).into()
    }

    #[test]
    fn the_header_tells_whether_there_is_an_alpha_channel() {
        let clear: DynamicImage = RgbaImage::new(8, 8).into();
        for format in [ImageFormat::Png, ImageFormat::WebP] {
            assert_eq!(found(&encoded(clear.clone(), format)), Some(true), "{format:?}");
            assert_eq!(found(&encoded(opaque(), format)), Some(false), "{format:?}");
        }
        assert_eq!(found(&encoded(opaque(), ImageFormat::Jpeg)), Some(false));
    }

    #[test]
    fn a_transparent_color_counts() {
        let png = encoded(opaque(), ImageFormat::Png);
        let chunk = b"\0\0\0\x06tRNS\0\x01\0\x02\0\x03\xc9\x4b\xab\xf5";
        assert_eq!(found(&[&png[..33], chunk, &png[33..]].concat()), Some(true));
    }

    #[test]
    fn an_unreadable_image_may_have_an_alpha_channel() {
        let png = encoded(opaque(), ImageFormat::Png);
        for image in [&png[..30], b"GIF89a", b"not an image"] {
            assert!(may_have_alpha_channel(&ImageInput::bytes(image.to_vec())));
        }
        assert!(may_have_alpha_channel(&ImageInput::path("/dev/null/cat.png")));
    }
}
