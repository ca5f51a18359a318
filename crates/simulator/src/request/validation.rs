//! Validates a request body: first against its schema, and then by rules that a schema cannot
//! express.

use std::collections::BTreeSet;

use imagekiln_painter::images::{self, Image, Inline, Input};
use serde_json::{Map, Value};
use url::Url;

use super::{fetch::Fetched, fields};
use crate::{
    config::Config,
    contract::{AspectRatio, Field, Fields, Step, Submission, Violation},
};

/// The maximum number of images in fields that the contract does not describe.
const MAX_UNDESCRIBED_IMAGES: usize = 16;

/// The result for a body. Summaries replace its images, which have not been decoded yet.
#[derive(Default)]
pub(crate) struct Checked {
    pub(crate) body: Value,
    pub(crate) inputs: Vec<Input>,
    /// The images among the inputs that must be decoded, with their locations in the body.
    pub(crate) images: Vec<(Vec<Step>, Inline)>,
    /// The fields that had no effect.
    pub(crate) ignored: Map<String, Value>,
    /// The URLs of images that were not fetched.
    pub(crate) addresses: BTreeSet<String>,
    /// The violations that can be found without decoding images.
    pub(crate) violations: Vec<Violation>,
}

/// Validates the body of an operation.
pub(crate) fn check(
    config: &Config,
    submission: &Submission,
    bytes: &[u8],
    fetched: &Fetched,
) -> Checked {
    let mut body = match parse(bytes) {
        Ok(body) => body,
        Err(violation) => return Checked { violations: vec![violation], ..Checked::default() },
    };
    let mut check = Check { config, submission, fetched, found: Checked::default() };
    check.found.violations = submission.schema.violations(&body);
    check.found.violations.extend(fields::open(submission.rules.kind, &body));
    if let Value::Object(body) = &mut body {
        check.found.violations.extend(fields::refused(submission, body, config.strict));
        check.found.ignored = fields::take_ignored(submission, body);
        check.object(Some(&submission.fields), body, &["body".into()]);
        if config.strict {
            let needs = submission.rules.needs.iter();
            let lacking = needs.filter_map(|need| fields::lacking(need, body, &check.found.inputs));
            check.found.violations.extend(lacking);
        }
    }
    Checked { body, ..check.found }
}

fn parse(bytes: &[u8]) -> Result<Value, Violation> {
    if bytes.is_empty() {
        return Err(Violation::new(["body"], "missing", "Field required"));
    }
    check_limits(bytes).map_err(|problem| Violation::value(["body"], problem))?;
    serde_json::from_slice(bytes).map_err(|error| {
        let lines =
            bytes.split_inclusive(|byte| *byte == b'\n').take(error.line().saturating_sub(1));
        let offset = lines.map(<[u8]>::len).sum::<usize>() + error.column().saturating_sub(1);
        Violation::new(
            [Step::from("body"), Step::Index(offset)],
            "json_invalid",
            "JSON decode error",
        )
    })
}

struct Check<'a> {
    config: &'a Config,
    submission: &'a Submission,
    fetched: &'a Fetched,
    found: Checked,
}

impl Check<'_> {
    /// Checks the values in the object at `loc`. `fields` is `None` if the contract leaves its
    /// fields open.
    fn object(&mut self, fields: Option<&Fields>, object: &mut Map<String, Value>, loc: &[Step]) {
        let field = |name: &str| fields.and_then(|fields| fields.get(name));
        let mut members: Vec<_> = object.iter_mut().collect();
        // Sort the fields, because the order of the images must not depend on the order of the map.
        members.sort_by_key(|(name, _)| (field(name).is_none(), *name));
        for (name, value) in members {
            self.value(field(name), value, &[loc, &[name.as_str().into()]].concat());
        }
        if let Some(fields) = fields {
            self.mask_sizes(fields, loc);
        }
    }

    /// Checks a value, and finds the images in it. In a field that the contract leaves open, a text
    /// that begins like an image counts as an image.
    fn value(&mut self, field: Option<&Field>, value: &mut Value, loc: &[Step]) {
        match value {
            Value::String(text) => {
                if let Some((min, max)) = field.and_then(|field| field.aspect_ratio) {
                    self.aspect_ratio(text, min, max, loc);
                }
                let (takes_address, max_megapixels, is_mask) = match field {
                    Some(Field { image: Some(rule), .. }) => {
                        (rule.takes_address, rule.max_megapixels, rule.mask_of.is_some())
                    }
                    None if images::seems_image(text)
                        && self.found.inputs.len() < MAX_UNDESCRIBED_IMAGES =>
                    {
                        (false, None, loc.last() == Some(&"mask".into()))
                    }
                    _ => return,
                };
                match self.image(text, takes_address, self.max_pixels(max_megapixels)) {
                    Err(problem) => self.value_error(loc, problem),
                    Ok(image) => {
                        // A summary replaces the text in the body.
                        *value = image.summary().into();
                        if let Image::Inline(inline) = &image {
                            self.found.images.push((loc.to_vec(), inline.clone()));
                        }
                        self.found.inputs.push(Input { place: place(loc), is_mask, image });
                    }
                }
            }
            Value::Array(values) => {
                let item = field.and_then(|field| field.items.as_deref());
                for (index, value) in values.iter_mut().enumerate() {
                    self.value(item, value, &[loc, &[Step::Index(index)]].concat());
                }
            }
            Value::Object(members) => {
                self.object(field.and_then(|field| field.fields.as_ref()), members, loc);
            }
            _ => {}
        }
    }

    /// Reads an image, or takes it from those that were fetched.
    fn image(&mut self, text: &str, takes_address: bool, max_pixels: u64) -> Result<Image, String> {
        if let Some(fetched) = self.fetched.get(text).filter(|_| takes_address) {
            return images::inline(Vec::from(fetched.clone()?), max_pixels).map(Image::Inline);
        }
        let image = images::read(text, takes_address, max_pixels).map_err(|problem| {
            match (is_url(text), takes_address) {
                (false, _) => problem,
                (true, false) => NO_URL.to_owned(),
                (true, true) => "the URL is neither http nor https".to_owned(),
            }
        })?;
        if matches!(image, Image::Elsewhere(_)) {
            self.found.addresses.insert(text.to_owned());
        }
        Ok(image)
    }

    /// Compares the sizes of masks with the sizes of their images, if the contract requires that
    /// they are equal, or in strict mode.
    fn mask_sizes(&mut self, fields: &Fields, loc: &[Step]) {
        let deeper = |name: &str| [loc, &[name.into()]].concat();
        for (name, field) in &fields.0 {
            let rule = field.image.as_ref().filter(|rule| rule.same_size || self.config.strict);
            let Some(of) = rule.and_then(|rule| rule.mask_of.as_ref()) else { continue };
            if let (Some(mask), Some(image)) =
                (self.inline(&deeper(name)), self.inline(&deeper(of)))
                && (mask.width, mask.height) != (image.width, image.height)
            {
                let problem = format!(
                    "the mask has {} x {} pixels, but `{of}` has {} x {}",
                    mask.width, mask.height, image.width, image.height
                );
                self.value_error(&deeper(name), problem);
            }
        }
    }

    fn aspect_ratio(&mut self, text: &str, min: AspectRatio, max: AspectRatio, loc: &[Step]) {
        let problem = match AspectRatio::parse(text) {
            Some(ratio) if ratio.lies_between(min, max) => return,
            Some(_) => format!(
                "the aspect ratio should be between {}:{} and {}:{}",
                max.width, max.height, min.width, min.height
            ),
            None => "an aspect ratio consists of two positive integers separated by a colon".into(),
        };
        self.value_error(loc, problem);
    }

    /// The maximum area of an image in pixels: the lowest of the limits of its field, of the
    /// operation, and of all images.
    fn max_pixels(&self, of_field: Option<f64>) -> u64 {
        let rules = &self.submission.rules;
        // The limit of an operation does not count if the operation scales larger images down.
        let of_operation =
            rules.max_input_megapixels.filter(|_| rules.scaled_to_megapixels.is_none());
        let limits = [of_field, of_operation].into_iter().flatten();
        limits.map(|limit| self.config.pixels(limit)).fold(self.config.max_input_pixels, u64::min)
    }

    fn inline(&self, loc: &[Step]) -> Option<&Inline> {
        let wanted = place(loc);
        let input = self.found.inputs.iter().find(|input| input.place == wanted)?;
        match &input.image {
            Image::Inline(image) => Some(image),
            Image::Elsewhere(_) => None,
        }
    }

    fn value_error(&mut self, loc: &[Step], problem: String) {
        self.found.violations.push(Violation::value(loc.to_vec(), problem));
    }
}

/// The problem with a URL in a field that does not accept URLs.
pub(super) const NO_URL: &str = "the field accepts base64 data, not a URL";

/// Whether a text is a URL, but not a `data:` URL. Base64 contains no colon, so it is not taken for
/// a URL.
pub(super) fn is_url(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| url.scheme() != "data")
}

fn place(loc: &[Step]) -> String {
    let names = loc.iter().skip(1).map(|step| match step {
        Step::Name(name) => name.clone(),
        Step::Index(index) => index.to_string(),
    });
    names.collect::<Vec<_>>().join(".")
}

/// The maximum number of values and names in a document.
const MAX_VALUES: usize = 10_000;

/// The maximum length of a name as the document contains it, in bytes.
const MAX_NAME_BYTES: usize = 256;

/// Fails if a document exceeds a limit. Must be called before the document is parsed, because small
/// values take a hundred times the memory of their text. Text that is not JSON may pass, because it
/// is not stored.
pub(crate) fn check_limits(document: &[u8]) -> Result<(), String> {
    let mut values = 0;
    let mut rest = document;
    while let Some((first, after)) = rest.split_first() {
        rest = match first {
            b',' | b':' | b']' | b'}' | b' ' | b'\t' | b'\r' | b'\n' => {
                rest = after;
                continue;
            }
            b'[' | b'{' => after,
            b'"' => {
                let (text, after) = string(after);
                let is_name = after.trim_ascii_start().starts_with(b":");
                if is_name && text.len() > MAX_NAME_BYTES {
                    return Err(format!(
                        "a name in the body is longer than {MAX_NAME_BYTES} bytes"
                    ));
                }
                after
            }
            _ => {
                let is_end = |byte: &u8| b",:]} \t\r\n".contains(byte);
                let length = after.iter().position(is_end).unwrap_or(after.len());
                after.get(length..).unwrap_or_default()
            }
        };
        values += 1;
        if values > MAX_VALUES {
            return Err(format!("the body has more than {MAX_VALUES} values and names"));
        }
    }
    Ok(())
}

/// Splits the text after an opening quotation mark at the closing one.
fn string(document: &[u8]) -> (&[u8], &[u8]) {
    let mut is_escaped = false;
    let is_end = |byte: &u8| {
        let ends = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        ends
    };
    let length = document.iter().position(is_end).unwrap_or(document.len());
    let (text, end) = document.split_at(length);
    (text, end.get(1..).unwrap_or_default())
}
