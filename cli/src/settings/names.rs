//! The settings of `config.toml`, with the flags and the variables that precede them.

use crate::{models, text::parse};
use imagekiln::{
    BASE_URL_VARIABLE, MODEL_PREFIX_VARIABLE, REGIONAL_BASE_URL_VARIABLE, WEBHOOK_URL_VARIABLE,
    text::hint,
};

/// A setting.
#[derive(Debug)]
pub struct Name {
    pub name: &'static str,
    pub flag: Option<&'static str>,
    pub variable: Option<&'static str>,
    /// The default.
    pub default: &'static str,
    pub is_list: bool,
    /// Checks one text. The error does not quote it, because it may be a secret in the wrong place.
    pub check: fn(&str) -> Result<(), String>,
}

pub const MODEL: Name =
    Name { flag: Some("--model"), default: "gen-2-pro", check: check_model, ..text("model") };
pub const OUTPUT: Name = Name {
    flag: Some("--output"),
    default: "MODEL-TASK.EXTENSION",
    check: check_output,
    ..text("output")
};
pub const SIZE: Name = Name {
    flag: Some("--size"),
    default: "chosen by the service",
    check: |text| parse::size(text).map(drop),
    ..text("size")
};
pub const BASE_URL: Name = Name { variable: Some(BASE_URL_VARIABLE), ..text("base_url") };
pub const REGIONAL_BASE_URL: Name =
    Name { variable: Some(REGIONAL_BASE_URL_VARIABLE), ..text("regional_base_url") };
pub const MODEL_PREFIX: Name =
    Name { variable: Some(MODEL_PREFIX_VARIABLE), default: "gen", ..text("model_prefix") };
pub const WEBHOOK_URL: Name = Name { variable: Some(WEBHOOK_URL_VARIABLE), ..text("webhook_url") };
pub const POLLING_HOSTS: Name =
    Name { flag: Some("--allow-polling-host"), is_list: true, ..text("allow_polling_hosts") };
pub const DELIVERY_HOSTS: Name =
    Name { flag: Some("--allow-delivery-host"), is_list: true, ..text("allow_delivery_hosts") };
pub const DEADLINE: Name = Name {
    flag: Some("--deadline"),
    default: "10m for each task",
    check: |text| parse::deadline(text).map(drop),
    ..text("deadline")
};
pub const MAX_ACTIVE: Name =
    Name { flag: Some("--max-active"), default: "24", check: check_count, ..text("max_active") };

/// All settings, in the order in which they are listed.
pub const NAMES: [&Name; 11] = [
    &BASE_URL,
    &REGIONAL_BASE_URL,
    &MODEL_PREFIX,
    &MODEL,
    &OUTPUT,
    &SIZE,
    &DEADLINE,
    &MAX_ACTIVE,
    &WEBHOOK_URL,
    &POLLING_HOSTS,
    &DELIVERY_HOSTS,
];

/// A setting that is any text.
const fn text(name: &'static str) -> Name {
    Name { name, flag: None, variable: None, default: "-", is_list: false, check: |_| Ok(()) }
}

pub fn find(name: &str) -> Option<&'static Name> {
    NAMES.into_iter().find(|known| known.name == name)
}

fn check_model(text: &str) -> Result<(), String> {
    let names = || models::models().map(|model| model.name);
    match models::find(text) {
        Some(_) => Ok(()),
        None => Err(format!("unknown model{}", hint(text, names()))),
    }
}

fn check_output(text: &str) -> Result<(), String> {
    if text == "-" { Err("standard output can't be the default".to_owned()) } else { Ok(()) }
}

fn check_count(text: &str) -> Result<(), String> {
    let count = text.parse::<u16>().ok().filter(|count| *count > 0);
    count.map(drop).ok_or_else(|| "give a number from 1 to 65535".to_owned())
}
