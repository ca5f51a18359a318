//! The violations that only one side finds, with the reasons.

use serde_json::Value;

use super::{
    case::Case,
    images::{BROKEN_URLS, LENIENT},
};
use imagekiln::{Field, FieldKind};

/// A violation that only one side reports.
pub struct Difference<'a> {
    pub case: &'a Case,
    pub side: Side,
    pub location: &'a str,
    pub kind: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Side {
    Sdk,
    Simulator,
}

pub struct Exception {
    pub reason: &'static str,
    pub applies: fn(&Difference) -> bool,
}

pub const EXCEPTIONS: &[Exception] = &[
    Exception {
        reason: "the contract leaves the field open, and the simulator has its own rules for it",
        applies: |found| {
            let is_open = found.field().is_none_or(|field| field.kind == FieldKind::Json);
            let operation = found.case.operation;
            let reads = !operation.all_fields_shown || operation.field(found.name()).is_some();
            let is_set = found.case.body.contains_key(found.name()) || found.kind == "missing";
            let is_own = found.side == Side::Simulator && found.kind != "extra_forbidden";
            is_own && is_set && is_open && reads
        },
    },
    Exception {
        reason: "the contract does not limit the size, and the simulator renders nothing larger",
        applies: |found| {
            let is_size = ["body", "body.width", "body.height"].contains(&found.location);
            let kinds = ["value_error", "less_than_equal"];
            found.side == Side::Simulator && is_size && kinds.contains(&found.kind)
        },
    },
    Exception {
        reason: "only the service knows the account's finetunes",
        applies: |found| {
            found.side == Side::Simulator
                && found.name() == "finetune_id"
                && found.kind == "value_error"
        },
    },
    Exception {
        reason: "the contract names no image formats and no form of base64, and the SDK refuses \
                 nothing that the service may take; the simulator then knows no size to compare \
                 that of a mask with",
        applies: |found| {
            let text = match found.side {
                Side::Simulator => found.text(),
                Side::Sdk => found.masked_text(),
            };
            let is_lenient = text.is_some_and(|text| LENIENT.iter().any(|known| known == text));
            found.kind == "value_error" && found.is_image() && is_lenient
        },
    },
    Exception {
        reason: "the SDK calls a broken URL of an image by its name",
        applies: |found| {
            let kind = match found.side {
                Side::Sdk => "url_parsing",
                Side::Simulator => "value_error",
            };
            found.kind == kind
                && found.is_image()
                && found.text().is_some_and(|text| BROKEN_URLS.contains(&text))
        },
    },
    Exception {
        reason: "`format: uri` allows other schemes, but the service can call only http and https",
        applies: |found| {
            let is_address = found.field().is_some_and(|field| field.kind == FieldKind::Address);
            let is_web = |text: &str| {
                let text = text.to_ascii_lowercase();
                let rest = text.strip_prefix("http").map(|rest| rest.trim_start_matches('s'));
                rest.is_some_and(|rest| rest.starts_with("://") && !rest.starts_with(":///"))
            };
            let is_uri = |text: &str| !text.contains([' ', '\n', '\\']);
            found.side == Side::Sdk
                && found.kind == "url_parsing"
                && is_address
                && found.text().is_some_and(|text| is_uri(text) && !is_web(text))
        },
    },
];

/// The name of the field whose image this field masks.
pub fn mask_of(field: &Field) -> Option<&'static str> {
    match field.kind {
        FieldKind::Image { mask_of, .. } => mask_of,
        _ => None,
    }
}

impl<'a> Difference<'a> {
    /// The name of the field. Empty for the whole body.
    fn name(&self) -> &'a str {
        let name = self.location.strip_prefix("body.").unwrap_or_default();
        name.split('.').next().unwrap_or_default()
    }

    fn field(&self) -> Option<&'static Field> {
        self.case.operation.field(self.name())
    }

    fn is_image(&self) -> bool {
        self.field().is_some_and(|field| matches!(field.kind, FieldKind::Image { .. }))
    }

    fn text(&self) -> Option<&'a str> {
        self.case.body.get(self.name()).and_then(Value::as_str)
    }

    /// The text of the image that the field masks.
    fn masked_text(&self) -> Option<&'a str> {
        self.case.body.get(mask_of(self.field()?)?).and_then(Value::as_str)
    }
}
