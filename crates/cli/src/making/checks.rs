//! Finds requests that are valid but useless, such as an edit without an image: the service would
//! bill them, and nobody wants their pictures.

use std::io::{BufRead, Cursor, Seek};

use image::{ImageDecoder as _, ImageReader};
use serde_json::{Map, Value};

use imagekiln::{FieldKind, ImageInput, NeedKind, Request, text::counted};

/// How many bytes of an image are read for its headers.
pub const HEADER: usize = 512 * 1024;

/// The maximum size of a mask that is decoded, in bytes.
const LARGEST_MASK: usize = 64 * 1024 * 1024;

/// How much the channels of a gray pixel may differ.
const GRAY: u8 = 40;

/// Text of this length in an unlisted field may be base64, so it counts as an image.
const LONG_TEXT: usize = 256;

/// What to do if the contract does not list the fields of the images.
const UNLISTED: &str = "the contract does not list the names of the fields: ask the service for \
                        them, and pass each image with --extra-image NAME=IMAGE";

/// What a request lacks, although the contract allows the request. The service would bill the
/// request, and make a picture that nobody wants.
pub struct MissingInput {
    /// For example ``gen-pro-1.0-expand needs `image` (the image to expand), which is not set``.
    pub message: String,
    /// What to do in a command that makes the picture.
    pub advice: String,
    /// Whether it is the prompt, which is empty or blank.
    pub is_prompt: bool,
}

impl MissingInput {
    /// Finds what the request lacks. Checks the images that the contract says the model needs
    /// (`x-needs`). Other fields are not checked, because the interface does not show which of them
    /// are required.
    ///
    /// May block, because it reads the headers of image files.
    pub fn of(request: &Request) -> Option<Self> {
        let body = request.outline();
        let prompt = body.get("prompt").and_then(Value::as_str);
        if prompt.is_some_and(|prompt| prompt.trim().is_empty()) {
            let message = "the prompt is empty".to_owned();
            let advice = "check that a variable or a file with the prompt is not empty".to_owned();
            return Some(Self { message, advice, is_prompt: true });
        }
        let model = request.operation();
        let (message, advice) = model.needs.iter().find_map(|need| match need.kind {
            NeedKind::AnyOf { fields, unless_alpha_in, .. } => {
                let image = unless_alpha_in.and_then(|name| request.image_in(name));
                let is_set = |name: &&str| body.get(*name).is_some_and(|value| !value.is_null());
                let takes_image = |name: &&str| {
                    let field = model.field(name);
                    field.is_some_and(|field| matches!(field.kind, FieldKind::Image { .. }))
                };
                if !fields.iter().all(takes_image)
                    || fields.iter().any(is_set)
                    || image.is_some_and(may_have_alpha_channel)
                {
                    return None;
                }
                let names = fields.join("` or `");
                let why = match unless_alpha_in {
                    Some(image) => format!(", because `{image}` has no alpha channel"),
                    None => format!(" ({}), which is not set", need.why),
                };
                let flags = fields.iter().map(|name| format!("--{} FILE", name.replace('_', "-")));
                let advice = format!("add {}", flags.collect::<Vec<_>>().join(" or "));
                Some((format!("{model} needs `{names}`{why}"), advice))
            }
            NeedKind::Images { count, .. } => {
                let given = images_in(&body) as u64;
                let (images, why) = (counted(count, "image"), need.why);
                let message =
                    format!("{model} needs {images} ({why}), and the request has {given}");
                (given < count).then(|| (message, UNLISTED.to_owned()))
            }
            _ => None,
        })?;
        Some(Self { message, advice, is_prompt: false })
    }
}

/// Returns the number of images in the outline of a request, including text in unlisted fields that
/// may be an image.
pub fn images_in(body: &Map<String, Value>) -> usize {
    body.values().map(images).sum()
}

fn images(value: &Value) -> usize {
    match value {
        Value::String(text) => {
            let is_url = ["http://", "https://", "data:"].iter().any(|head| text.starts_with(head));
            usize::from(is_url || text.len() >= LONG_TEXT)
        }
        Value::Array(items) => items.iter().map(images).sum(),
        Value::Object(members) if is_image(members) => 1,
        Value::Object(members) => images_in(members),
        _ => 0,
    }
}

/// Whether these members describe an image, in the form of an outline.
fn is_image(members: &Map<String, Value>) -> bool {
    members.contains_key("bytes") || (members.len() == 1 && members.contains_key("url"))
}

/// Returns `false` only if the image certainly has no alpha channel. Reads the header, and may
/// block.
fn may_have_alpha_channel(image: &ImageInput) -> bool {
    let head = image.head(HEADER).unwrap_or_default();
    has_alpha_channel(Cursor::new(head)).unwrap_or(true)
}

pub fn is_mask(kind: &FieldKind) -> bool {
    matches!(kind, FieldKind::Image { mask_of: Some(_), .. })
}

/// Returns the masks of a request, with the names of their fields.
pub fn masks(request: &Request) -> impl Iterator<Item = (&'static str, &ImageInput)> {
    let fields = request.operation().fields.iter().filter(|field| is_mask(&field.kind));
    fields.filter_map(|field| Some((field.name, request.image_in(field.name)?)))
}

/// Returns what is wrong with a mask that is transparent, in color, black everywhere, or white
/// everywhere. The service would bill a picture in which nothing or the wrong area changes.
///
/// Decodes JPEG, PNG and WebP, and may block. Returns `None` for an image that cannot be decoded.
pub fn mask_problem(mask: &ImageInput) -> Option<&'static str> {
    let file = mask.head(LARGEST_MASK)?;
    let mask = ImageReader::new(Cursor::new(file)).with_guessed_format().ok()?.decode().ok()?;
    let mask = mask.into_rgba8();
    let (mut colored, mut darkest, mut brightest) = (0, u8::MAX, 0);
    for [red, green, blue, alpha] in mask.pixels().map(|pixel| pixel.0) {
        if alpha < u8::MAX {
            return Some(
                "has transparent pixels; must be opaque: white where the image changes, and black \
                 elsewhere",
            );
        }
        let (low, high) = (red.min(green).min(blue), red.max(green).max(blue));
        colored += u64::from(high - low > GRAY);
        (darkest, brightest) = (darkest.min(high), brightest.max(low));
    }
    // Lossy compression colors a few pixels.
    if colored > u64::from(mask.width()) * u64::from(mask.height()) / 100 {
        return Some(
            "is in color; must be black and white: white where the image changes, and black \
             elsewhere",
        );
    }
    match (darkest, brightest) {
        (_, 0..=127) => Some("is black everywhere: nothing would change; must be white somewhere"),
        (128.., _) => Some("is white everywhere: all would change; must be black somewhere"),
        _ => None,
    }
}

fn has_alpha_channel(image: impl BufRead + Seek) -> Option<bool> {
    let decoder = ImageReader::new(image).with_guessed_format().ok()?.into_decoder().ok()?;
    Some(decoder.color_type().has_alpha())
}

#[cfg(test)]
mod tests {
    use image::{DynamicImage, ImageFormat, Rgb, RgbImage, Rgba, RgbaImage};
    use imagekiln_testbed::picture::encoded;

    use super::*;

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
    fn a_mask_is_opaque_gray_and_not_of_one_color() {
        type Pixel = fn(u32) -> [u8; 4];
        let of = |pixel: Pixel| RgbaImage::from_fn(16, 16, |x, _| Rgba(pixel(x))).into();
        let cases: [(&str, Pixel, Option<&str>); 8] = [
            ("a half", |x| if x < 5 { [255; 4] } else { [0, 0, 0, 255] }, None),
            ("soft edges", |x| [x as u8 * 16, x as u8 * 16, x as u8 * 16, 255], None),
            ("a hole", |x| if x < 5 { [0; 4] } else { [0, 0, 0, 255] }, Some("has transparent")),
            ("half transparent", |_| [255, 255, 255, 100], Some("has transparent")),
            ("colors", |x| [x as u8 * 16, 20, 255 - x as u8 * 16, 255], Some("is in color")),
            ("black", |_| [0, 0, 0, 255], Some("is black everywhere")),
            ("labels", |x| [x as u8 % 2, 1, 1, 255], Some("is black everywhere")),
            ("white", |_| [240, 255, 250, 255], Some("is white everywhere")),
        ];
        for (name, pixel, expected) in cases {
            let image: DynamicImage = of(pixel);
            for format in [ImageFormat::Png, ImageFormat::WebP] {
                let mask = ImageInput::bytes(encoded(image.clone(), format));
                let found = mask_problem(&mask);
                assert_eq!(found.is_some(), expected.is_some(), "{name} {found:?}");
                assert!(found.unwrap_or_default().starts_with(expected.unwrap_or_default()));
            }
        }
        for other in [ImageInput::bytes(&b"GIF89a"[..]), ImageInput::url("https://example.com")] {
            assert_eq!(mask_problem(&other), None);
        }
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
