//! The rules of submissions: those of the operation, and those of the request body.

use std::sync::Arc;

use imagekiln_painter::paint::OperationKind;
use serde::Deserialize;
use serde_json::Value;

use super::{check, fields::Fields, schema::Schema};

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
        let content = &check::resolve(document, &operation["requestBody"])["content"];
        let body = content
            .get("application/json")
            .and_then(|media| media.get("schema"))
            .ok_or("the operation has no application/json request body")?;
        Ok(Self {
            schema: Schema::new(document, body)?,
            fields: Fields::of(document, body),
            is_complete: check::resolve(document, body)["additionalProperties"] != true,
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
