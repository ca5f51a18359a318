//! The table of all settings: their names, meanings, flags, variables, defaults and checks.

use super::{DEFAULT_PROFILE, PROFILE_VARIABLE, key::API_KEY_FILE_VARIABLE};
use crate::{
    models,
    text::{deadline, parse},
};
use imagekiln::{
    ALLOW_HTTP_VARIABLE, API_KEY_VARIABLE, Address, BASE_URL_VARIABLE, MODEL_PREFIX_VARIABLE,
    REGIONAL_BASE_URL_VARIABLE, WEBHOOK_SECRET_VARIABLE, WEBHOOK_URL_VARIABLE, text::hint,
};
use imagekiln_label::Price;

/// A setting. `kiln config` and its help list the settings of this table.
#[derive(Debug)]
pub struct Name {
    pub name: &'static str,
    pub what: &'static str,
    pub flag: Option<&'static str>,
    pub variable: Option<&'static str>,
    /// The default, or a description of it. `-` if there is none.
    pub default: &'static str,
    pub is_list: bool,
    /// Whether the setting may be in `config.toml`. Secrets may not, and neither may the profile
    /// and `allow_http`, which only flags and variables set.
    pub is_in_file: bool,
    /// Checks one text. The error does not quote it, because somebody may have put a secret there.
    pub check: fn(&str) -> Result<(), String>,
}

/// The text that is shown instead of a secret.
pub const SET: &str = "[set]";

/// The settings whose default is a value. The other defaults are descriptions, which scripts could
/// not use.
const WITH_DEFAULT: [&Name; 5] = [&PROFILE, &MODEL_PREFIX, &MODEL, &DESCRIBE, &ASK_ABOVE];

impl Name {
    /// Whether the default is a value, and not a description.
    pub fn has_default(&self) -> bool {
        WITH_DEFAULT.iter().any(|name| name.name == self.name)
    }

    /// Replaces what must not be shown of the texts of this setting: the webhook secret, and the
    /// user information and the query of URLs, which may be secrets.
    pub fn without_secrets(&self, mut texts: Vec<String>) -> Vec<String> {
        for text in &mut texts {
            if self.name == WEBHOOK_SECRET.name {
                *text = SET.to_owned();
            } else if self.name.ends_with("_url") {
                let shown = Address::from(&**text).to_string();
                let is_bare = !text.ends_with('/');
                *text = shown.strip_suffix('/').filter(|_| is_bare).unwrap_or(&shown).to_owned();
            }
        }
        texts
    }
}

pub const PROFILE: Name = Name {
    flag: Some("--profile"),
    variable: Some(PROFILE_VARIABLE),
    default: DEFAULT_PROFILE,
    ..elsewhere("profile", "the profile")
};
pub const API_KEY: Name = Name {
    variable: Some(API_KEY_VARIABLE),
    ..elsewhere("api_key", "the API key; precedes the key that `kiln config login` stored")
};
pub const API_KEY_FILE: Name = Name {
    variable: Some(API_KEY_FILE_VARIABLE),
    ..elsewhere("api_key_file", "a file with the API key, if `IMAGEKILN_API_KEY` is not set")
};
pub const BASE_URL: Name =
    Name { variable: Some(BASE_URL_VARIABLE), ..text("base_url", "the base URL of the service") };
pub const REGIONAL_BASE_URL: Name = Name {
    variable: Some(REGIONAL_BASE_URL_VARIABLE),
    ..text("regional_base_url", "the base URL of regional models; only they need it")
};
pub const MODEL_PREFIX: Name = Name {
    variable: Some(MODEL_PREFIX_VARIABLE),
    default: "gen",
    ..text("model_prefix", "the prefix of model names")
};
pub const MODEL: Name = Name {
    flag: Some("--model"),
    default: models::DEFAULT,
    check: |text| {
        let known = models::find(text).map(drop);
        let names = || models::models().map(|model| model.name);
        known.ok_or_else(|| format!("unknown model{}", hint(text, names())))
    },
    ..text("model", "the model of `generate`, `edit` and `batch run`")
};
pub const OUTPUT: Name = Name {
    flag: Some("--output"),
    default: "PROMPT-TASK.EXTENSION",
    check: |text| match text {
        "-" => Err("standard output can't be the default".to_owned()),
        _ => Ok(()),
    },
    ..text("output", "where to save pictures: a directory, a file or a template; not for batches")
};
pub const SIZE: Name = Name {
    flag: Some("--size"),
    default: "chosen by the service",
    check: |text| parse::size(text).map(drop),
    ..text("size", "the size of pictures, such as `1024x768`, unless the request sets it")
};
pub const DESCRIBE: Name = Name {
    flag: Some("--describe"),
    default: "false",
    check: |text| match text {
        "true" | "false" => Ok(()),
        _ => Err("give true or false".to_owned()),
    },
    ..text(
        "describe",
        "`true` writes `FILE.json` beside each picture: its request, seed, cost and times",
    )
};
pub const DEADLINE: Name = Name {
    flag: Some("--deadline"),
    default: "10m for each task",
    check: |text| deadline(text).map(drop),
    ..text("deadline", "how long a command may take, such as `2m`; not for batches")
};
pub const MAX_ACTIVE: Name = Name {
    flag: Some("--max-active"),
    default: "as many as the service allows",
    check: check_count,
    ..text("max_active", "how many pictures a command may work on at once")
};
pub const ASK_ABOVE: Name = Name {
    flag: Some("--yes"),
    default: "20",
    check: check_count,
    ..text("ask_above", "how many pictures a command makes without a question; not for batches")
};
pub const ASK_ABOVE_CREDITS: Name = Name {
    flag: Some("--yes"),
    default: "no limit",
    check: |text| parse::credits(text).map(drop),
    ..text(
        "ask_above_credits",
        "how many credits a command spends without a question, if costs are known; not for batches",
    )
};
pub const PRICES: Name = Name {
    is_list: true,
    check: |text| price(text).map(drop),
    ..text("prices", "what models cost in credits, such as `gen-2-pro=3` or `gen-2-pro=0.5/MP`")
};
pub const WEBHOOK_URL: Name = Name {
    variable: Some(WEBHOOK_URL_VARIABLE),
    ..text("webhook_url", "where the service sends webhooks, unless the request sets it")
};
pub const WEBHOOK_SECRET: Name = Name {
    flag: Some("--webhook-secret-file"),
    variable: Some(WEBHOOK_SECRET_VARIABLE),
    ..elsewhere("webhook_secret", "the secret that signs webhooks; the flag names a file with it")
};
pub const POLLING_HOSTS: Name = Name {
    flag: Some("--allow-polling-host"),
    is_list: true,
    ..text("allow_polling_hosts", "more hosts that receive the key")
};
pub const DELIVERY_HOSTS: Name = Name {
    flag: Some("--allow-delivery-host"),
    is_list: true,
    ..text("allow_delivery_hosts", "more hosts from which pictures are fetched")
};
pub const ALLOW_HTTP: Name = Name {
    variable: Some(ALLOW_HTTP_VARIABLE),
    ..elsewhere(
        "allow_http",
        "`1` allows `http://` on other machines, and sends the key unencrypted",
    )
};

/// All settings, in the order in which they are listed.
pub const NAMES: [&Name; 20] = [
    &PROFILE,
    &API_KEY,
    &API_KEY_FILE,
    &BASE_URL,
    &REGIONAL_BASE_URL,
    &MODEL_PREFIX,
    &MODEL,
    &OUTPUT,
    &SIZE,
    &DESCRIBE,
    &DEADLINE,
    &MAX_ACTIVE,
    &ASK_ABOVE,
    &ASK_ABOVE_CREDITS,
    &PRICES,
    &WEBHOOK_URL,
    &WEBHOOK_SECRET,
    &POLLING_HOSTS,
    &DELIVERY_HOSTS,
    &ALLOW_HTTP,
];

/// A setting that accepts any text.
const fn text(name: &'static str, what: &'static str) -> Name {
    Name {
        name,
        what,
        flag: None,
        variable: None,
        default: "-",
        is_list: false,
        is_in_file: true,
        check: |_| Ok(()),
    }
}

/// A setting that must not be in `config.toml`.
const fn elsewhere(name: &'static str, what: &'static str) -> Name {
    Name { is_in_file: false, ..text(name, what) }
}

pub fn find(name: &str) -> Option<&'static Name> {
    NAMES.into_iter().find(|known| known.name == name)
}

pub fn in_file() -> impl Iterator<Item = &'static Name> {
    NAMES.into_iter().filter(|name| name.is_in_file)
}

fn check_count(text: &str) -> Result<(), String> {
    let count = text.parse::<u16>().ok().filter(|count| *count > 0);
    count.map(drop).ok_or_else(|| "give a number from 1 to 65535".to_owned())
}

/// Splits `MODEL=PRICE` into the name of the operation and the price.
pub fn price(text: &str) -> Result<(&'static str, Price), String> {
    let (model, price) = text.split_once('=').ok_or("give MODEL=PRICE")?;
    let known = models::find(model.trim());
    let model = known.ok_or_else(|| models::unknown(model).0)?;
    Ok((model.name, parse::price(price)?))
}
