//! `kiln profiles`: lists the profiles.

use clap::Args;
use serde_json::json;

use crate::{
    context::Context,
    failure::Failure,
    settings::{DEFAULT_PROFILE, names::BASE_URL},
    text::{sanitize::printable, table::Table},
};

pub const NAME: &str = "profiles";

const ABOUT: &str = "\
A profile is a part [profile.NAME] of config.toml, a stored key, or both. The profile in
effect is that of --profile, or else of KILN_PROFILE, or else `default`.";

/// List the profiles, and which of them is in effect
#[derive(Args)]
#[command(after_help = ABOUT)]
pub struct Options {}

pub fn run(context: &Context, _: Options) -> Result<(), Failure> {
    let settings = context.settings.reload()?;
    let mut names = settings.profiles();
    names.insert(DEFAULT_PROFILE.to_owned());
    let (mut rows, mut list) = (Vec::new(), Vec::new());
    for name in names {
        let of_profile = settings.of_profile(&name);
        let texts = of_profile.find(&BASE_URL).map(|found| found.texts).unwrap_or_default();
        let base = BASE_URL.without_secrets(texts).pop();
        let has_key = of_profile.key_file()?.exists();
        let source = (name == settings.profile.name).then(|| settings.profile.source.to_string());
        list.push(json!({
            "name": name, "base_url": base, "key_stored": has_key, "in_effect": source.is_some(),
        }));
        let base = base.map_or("-".to_owned(), |text| printable(&text));
        let key = if has_key { "stored" } else { "-" };
        rows.push([name, base, key.to_owned(), source.unwrap_or_default()]);
    }
    let profile = &settings.profile;
    let heading = ["PROFILE", "BASE URL", "KEY", "IN EFFECT"];
    let table = Table::with_heading(heading, rows).wrapped(&[0, 1, 3]);
    context.output.result(
        || context.process().stdout.table(&table),
        || {
            let source = profile.source.to_string();
            json!({ "profile": profile.name, "source": source, "profiles": list })
        },
    )
}
