//! What submissions need with `strict`, although the contract leaves it optional, because the
//! interface does not show which fields are required.

use serde_json::{Map, Value};

use crate::{
    contract::Violation,
    media::images::{Image, Input},
};

/// What an operation needs.
enum Need {
    /// A field.
    Field(&'static str),
    /// One of these fields.
    OneOf(&'static [&'static str]),
    /// This many images or URLs, in any fields.
    Images(usize),
    /// A mask, unless the image in the field `image` has an alpha channel.
    MaskOrAlpha,
}

/// What each operation needs, by its id in the contract, and why.
const NEEDS: &[(&str, Need, &str)] = &[
    ("gen_2_klein_4b", Need::Field("prompt"), "the other `gen-2-*` models require it"),
    ("base_model_finetuned", Need::Field("prompt"), "the base models require it"),
    ("base_model_finetuned", Need::Field("finetune_id"), "the base model's request plus this"),
    ("gen_kontext_pro", Need::Field("prompt"), "the text prompt of an edit"),
    ("gen_dev", Need::OneOf(&["prompt", "image_prompt"]), "one of them says what to paint"),
    ("gen_pro_1_1", Need::OneOf(&["prompt", "image_prompt"]), "one of them says what to paint"),
    ("gen_pro_1_0_fill", Need::Field("image"), "the image to modify"),
    ("gen_pro_1_0_fill", Need::MaskOrAlpha, "it is optional only if the image has an alpha mask"),
    (
        "gen_pro_1_0_fill_finetuned",
        Need::MaskOrAlpha,
        "it is optional only if the image has an alpha mask",
    ),
    ("gen_pro_1_0_expand", Need::Field("image"), "the image to expand"),
    ("gen_tools_erase_v1", Need::Field("image"), "the image to remove content from"),
    ("gen_tools_erase_v1", Need::Field("mask"), "it covers the content to remove"),
    ("gen_tools_vto_v1", Need::Images(2), "a person and a garment"),
    ("gen_tools_vto_v2", Need::Images(2), "a person and a garment"),
    ("gen_tools_outpainting_v1", Need::Images(1), "the image to extend"),
    ("gen_pro_1_0_depth", Need::Images(1), "the control image"),
    ("gen_pro_1_0_canny", Need::Images(1), "the control image"),
    ("gen_pro_1_0_depth_finetuned", Need::Images(1), "the control image"),
    ("gen_pro_1_0_canny_finetuned", Need::Images(1), "the control image"),
    ("gen_pro_1_0_depth_finetuned", Need::Field("finetune_id"), "it names the LoRA"),
    ("gen_pro_1_0_canny_finetuned", Need::Field("finetune_id"), "it names the LoRA"),
    ("gen_pro_finetuned", Need::Field("finetune_id"), "it names the LoRA"),
    ("gen_3_video", Need::Field("mode"), "it selects the inputs"),
];

/// Fields whose URL is not that of an image.
const NOT_IMAGES: [&str; 1] = ["webhook_url"];

/// Returns what the request lacks. `null` counts as absent.
pub(super) fn missing(
    operation_id: &str,
    body: &Map<String, Value>,
    inputs: &[Input],
) -> Vec<Violation> {
    let needs = NEEDS.iter().filter(|(id, ..)| *id == operation_id);
    needs.filter_map(|(_, need, reason)| need.violation(reason, body, inputs)).collect()
}

impl Need {
    fn violation(
        &self,
        reason: &str,
        body: &Map<String, Value>,
        inputs: &[Input],
    ) -> Option<Violation> {
        let has = |name: &str| body.get(name).is_some_and(|value| !value.is_null());
        let missing = |name: &str| {
            Violation::new(["body", name], "missing", format!("Field required: {reason}"))
        };
        match self {
            Self::Field(name) => (!has(name)).then(|| missing(name)),
            Self::OneOf(names) => {
                let (first, others) = names.split_first()?;
                if names.iter().any(|name| has(name)) {
                    return None;
                }
                let msg = format!("Field required, or `{}`: {reason}", others.join("`, `"));
                Some(Violation::new(["body", *first], "missing", msg))
            }
            Self::Images(least) => {
                let given = inputs.len() + urls(body, inputs);
                let problem = format!("the operation needs {reason}: the request has {given}");
                (given < *least).then(|| Violation::value(vec!["body".into()], problem))
            }
            Self::MaskOrAlpha => {
                let image = inputs.iter().find(|input| input.place == "image")?;
                let Image::Inline(image) = &image.image else { return None };
                (!has("mask") && !image.has_alpha()).then(|| missing("mask"))
            }
        }
    }
}

/// The number of URLs, at any depth, in fields that the contract leaves open.
fn urls(body: &Map<String, Value>, inputs: &[Input]) -> usize {
    fn count(value: &Value) -> usize {
        match value {
            Value::String(text) => {
                usize::from(["http://", "https://"].iter().any(|scheme| text.starts_with(scheme)))
            }
            Value::Array(items) => items.iter().map(count).sum(),
            Value::Object(fields) => fields.values().map(count).sum(),
            _ => 0,
        }
    }
    let read = |name: &str| inputs.iter().any(|input| input.place == name);
    let open = body.iter().filter(|(name, _)| !NOT_IMAGES.contains(&name.as_str()) && !read(name));
    open.map(|(_, value)| count(value)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Contract;

    #[test]
    fn every_operation_of_the_table_is_in_the_contract() {
        let contract = Contract::built_in().unwrap();
        for (id, ..) in NEEDS {
            assert!(contract.operations().any(|operation| operation.id == *id), "{id}");
        }
    }
}
