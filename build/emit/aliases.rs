//! Search aliases for rustdoc, so that people find an operation by other words for what it does.

use super::super::{
    contract::{Operation, Submission},
    field::{Field, Kind},
};

/// The kinds of operations, and the words that people search for.
const WORDS: &[(&str, &[&str])] = &[
    ("canny", &["edges", "controlnet", "structural conditioning"]),
    ("deblur", &["sharpen", "restore", "upscale", "enhance"]),
    ("depth", &["depth map", "controlnet", "structural conditioning"]),
    ("erase", &["remove object", "object removal", "cleanup"]),
    ("expand", &["outpaint", "outpainting", "uncrop", "extend"]),
    ("fill", &["inpaint", "inpainting", "masked edit"]),
    ("outpaint", &["outpaint", "expand", "uncrop", "extend"]),
    ("try-on", &["try-on", "virtual try-on", "garment", "clothes"]),
    ("video", &["text-to-video", "image-to-video", "t2v", "i2v", "animate"]),
];

/// A part of the names of operations for fine-tuned models, and the words that people search for.
const FINETUNED: (&str, &[&str]) = ("finetune", &["lora", "fine-tune", "custom model"]);

pub fn aliases(operation: &Operation, submission: &Submission) -> Vec<String> {
    let mut aliases = Vec::new();
    let mut add = |words: &[&str]| {
        for word in words {
            // Skip such a word, because rustdoc rejects an alias that occurs twice or equals the
            // name of the type.
            if *word != submission.type_name && !aliases.iter().any(|known| known == word) {
                aliases.push((*word).to_owned());
            }
        }
    };
    add(&[&operation.name, &operation.path, &operation.id]);
    let matching = WORDS.iter().filter(|(kind, _)| submission.kind == *kind);
    matching.for_each(|(_, words)| add(words));
    if operation.name.contains(FINETUNED.0) {
        add(FINETUNED.1);
    }
    let is_image = |field: &Field| matches!(field.kind, Kind::Image { .. });
    let has = |name: &str| submission.fields.iter().any(|field| field.name == name);
    if has("prompt") && !has("image") {
        add(&["text-to-image"]);
    }
    if submission.fields.iter().any(is_image) {
        add(&["image-to-image", "edit"]);
    }
    aliases
}
