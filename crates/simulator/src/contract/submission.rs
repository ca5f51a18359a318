//! The rules of submissions: those of the operation, those of the request body, and the properties
//! of its fields that JSON Schema does not cover: images, masks, aspect ratios, secrets, defaults.

use std::{collections::BTreeMap, sync::Arc};

use imagekiln_painter::paint::OperationKind;
use serde::Deserialize;
use serde_json::Value;

use super::{
    check::{list, resolve},
    schema::Schema,
};
use crate::values::names::digits;

/// What a strict request needs, although the schema does not require it.
#[derive(Deserialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    rename_all_fields = "kebab-case",
    expecting = "expected `any-of` or `images`, and `why`"
)]
pub(crate) enum Need {
    /// One of these fields, unless the image in another field has an alpha channel.
    Fields { any_of: Vec<String>, unless_alpha_in: Option<String>, why: String },
    /// This many images or URLs, in any fields.
    Images { images: usize, why: String },
}

/// The rules that are keywords of the operation.
#[derive(Deserialize)]
pub(crate) struct Rules {
    #[serde(rename = "x-kind")]
    pub(crate) kind: OperationKind,
    #[serde(rename = "x-needs", default)]
    pub(crate) needs: Vec<Need>,
    /// The maximum number of reference images, if the interface names one.
    #[serde(rename = "x-max-reference-images")]
    pub(crate) max_reference_images: Option<usize>,
    /// The fields that the interface says are not accepted.
    #[serde(rename = "x-not-accepted", default)]
    pub(crate) not_accepted: Vec<String>,
    /// The maximum area of an image.
    #[serde(rename = "x-max-input-megapixels")]
    pub(crate) max_input_megapixels: Option<f64>,
    /// The area to which larger images are scaled. Without it they are rejected.
    #[serde(rename = "x-scaled-to-megapixels")]
    pub(crate) scaled_to_megapixels: Option<f64>,
}

/// The rules of a submission.
pub(crate) struct Submission {
    pub(crate) schema: Schema,
    pub(crate) fields: Fields,
    /// Whether the contract lists all fields. Otherwise the service may have others.
    pub(crate) is_complete: bool,
    pub(crate) rules: Rules,
}

impl Submission {
    pub(super) fn read(document: &Arc<Value>, operation: &Value) -> Result<Self, String> {
        let content = &resolve(document, &operation["requestBody"])["content"];
        let body = content
            .get("application/json")
            .and_then(|media| media.get("schema"))
            .ok_or("the operation has no application/json request body")?;
        Ok(Self {
            schema: Schema::new(document, body)?,
            fields: Fields::of(document, body, MAX_DEPTH),
            is_complete: resolve(document, body)["additionalProperties"] != true,
            rules: serde_path_to_error::deserialize(operation)
                .map_err(|error| error.to_string())?,
        })
    }

    /// Whether the field `finetune_id` names a finetune.
    pub(crate) fn takes_finetune(&self) -> bool {
        let is_it = |name: &String| name == "finetune_id";
        let names_it = |need: &Need| match need {
            Need::Fields { any_of, .. } => any_of.iter().any(is_it),
            Need::Images { .. } => false,
        };
        self.fields.get("finetune_id").is_some() || self.rules.needs.iter().any(names_it)
    }
}

/// The maximum nesting of fields.
const MAX_DEPTH: u32 = 16;

/// The fields of a request body, by name.
#[derive(Default)]
pub(crate) struct Fields(pub(crate) BTreeMap<String, Field>);

#[derive(Default)]
pub(crate) struct Field {
    pub(crate) image: Option<ImageRule>,
    pub(crate) aspect_ratio: Option<(AspectRatio, AspectRatio)>,
    pub(crate) secret: bool,
    /// The value that the service uses if the field is absent.
    pub(crate) default: Option<Value>,
    /// What each item of an array is.
    pub(crate) items: Option<Box<Field>>,
    /// The fields of an object.
    pub(crate) fields: Option<Fields>,
}

/// The rules of an image field.
pub(crate) struct ImageRule {
    /// A URL is accepted too, not only base64.
    pub(crate) takes_address: bool,
    /// The field whose image this masks.
    pub(crate) mask_of: Option<String>,
    /// The mask and its image must have the same size.
    pub(crate) same_size: bool,
    pub(crate) max_megapixels: Option<f64>,
}

impl Fields {
    /// The fields of an object schema, including those of its `allOf`.
    fn of(document: &Value, schema: &Value, depth: u32) -> Self {
        let schema = resolve(document, schema);
        let own = schema["properties"].as_object().into_iter().flatten();
        let own = own.map(|(name, field)| (name.clone(), Field::of(document, field, depth)));
        let parts = list(schema, "allOf").filter(|_| depth > 0);
        let others = parts.flat_map(|part| Self::of(document, part, depth - 1).0);
        Self(own.chain(others).collect())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Field> {
        self.0.get(name)
    }

    /// The value of a field, or its default. An explicit `null` counts as absent.
    pub(crate) fn value<'a>(&'a self, body: &'a Value, name: &str) -> Option<&'a Value> {
        let given = body.get(name).filter(|value| !value.is_null());
        given.or_else(|| self.get(name).and_then(|field| field.default.as_ref()))
    }
}

impl Field {
    fn of(document: &Value, property: &Value, depth: u32) -> Self {
        let target = target(document, property);
        let is = |kind: &str| depth > 0 && target["type"] == kind;
        let fields = is("object").then(|| Fields::of(document, target, depth - 1));
        let items = is("array").then(|| Box::new(Self::of(document, &target["items"], depth - 1)));
        let ratio =
            |end: &str| property["x-aspect-ratio"].get(end)?.as_str().and_then(AspectRatio::parse);
        Self {
            image: property["x-image"].as_str().map(|encoding| ImageRule {
                takes_address: encoding != "base64",
                mask_of: property["x-mask-of"].as_str().map(str::to_owned),
                same_size: property["x-same-size"] == true,
                max_megapixels: property["x-max-megapixels"].as_f64(),
            }),
            aspect_ratio: ratio("min").zip(ratio("max")),
            secret: property["x-secret"] == true,
            default: property.get("default").cloned(),
            items,
            fields,
        }
    }
}

/// Follows a reference, which may be in an `allOf` to have a description.
fn target<'a>(document: &'a Value, property: &'a Value) -> &'a Value {
    match property["allOf"].as_array().map(Vec::as_slice) {
        Some([only]) => resolve(document, only),
        _ => resolve(document, property),
    }
}

/// Width and height, written `16:9`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AspectRatio {
    pub(crate) width: u32,
    pub(crate) height: u32,
}

impl AspectRatio {
    /// Parses two positive integers separated by a colon.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let side = |text| digits(text)?.parse().ok().filter(|side: &u32| *side > 0);
        let (width, height) = text.split_once(':')?;
        Some(Self { width: side(width)?, height: side(height)? })
    }

    /// Whether this ratio is between `min` and `max`, inclusive.
    pub(crate) fn lies_between(self, min: Self, max: Self) -> bool {
        let at_most = |a: Self, b: Self| {
            u64::from(a.width) * u64::from(b.height) <= u64::from(b.width) * u64::from(a.height)
        };
        at_most(min, self) && at_most(self, max)
    }
}
