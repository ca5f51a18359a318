//! `kiln config`: shows the settings in effect with the source of each, and changes `config.toml`.

use std::{io, path::PathBuf};

use clap::{Args, Subcommand, ValueHint, builder::PossibleValuesParser};
use clap_complete::Shell;
use serde_json::{Value, json};
use tokio::process::Command;

use super::{install, login};
use crate::{
    args::completers,
    context::Context,
    failure::{Exit, Failure},
    files::directory::write_private,
    service,
    settings::{
        DEFAULT_PROFILE, Found, Settings, Source, key, named,
        names::{self, API_KEY, BASE_URL, NAMES, Name, PROFILE, SET},
    },
    text::{Table, printable},
};

const NOT_SET: &str = "-";

/// Show and change the settings, and what else is set up once
#[derive(Args)]
#[command(
    after_help = "`kiln config --help` lists the settings and their variables.",
    after_long_help = help(),
    disable_help_subcommand = true
)]
pub struct Options {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Subcommand)]
enum Action {
    /// Show the settings in effect, and the source of each
    List,
    /// Print the value in effect of a setting
    Get {
        /// The setting
        #[arg(value_parser = PossibleValuesParser::new(NAMES.map(|name| name.name)))]
        #[arg(hide_possible_values = true)]
        name: String,
    },
    /// Set a setting; with --profile NAME, in [profile.NAME]
    Set {
        /// The setting
        #[arg(add = completers::settings())]
        name: String,
        /// Its value; a list of hosts has one or more
        #[arg(required = true)]
        value: Vec<String>,
    },
    /// Remove a setting; with --profile NAME, from [profile.NAME]
    Unset {
        /// The setting
        #[arg(add = completers::settings())]
        name: String,
    },
    /// Open config.toml in $VISUAL or $EDITOR, and check it afterwards
    Edit,
    /// Print the path of config.toml
    Path,
    /// Store the API key where only you can read it
    #[command(after_help = login::WHERE)]
    Login,
    /// Delete the API key that `kiln config login` stored
    #[command(after_help = "The service still accepts the key.")]
    Logout,
    /// List the profiles, and which of them is in effect
    #[command(after_help = "\
        A profile is a part [profile.NAME] of config.toml, a stored key, or both. The profile in \
        effect is that of --profile, or else of KILN_PROFILE, or else `default`.")]
    Profiles,
    /// Print a shell completion script
    #[command(after_help = install::COMPLETIONS)]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write the manual pages, one per command
    #[command(after_help = install::PAGES)]
    Man {
        /// Where to write them; it is created if it does not exist
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        directory: PathBuf,
    },
}

fn help() -> String {
    let line = |name: &&Name| {
        let other: Vec<_> = [name.flag, name.variable].into_iter().flatten().collect();
        let other = other.join(", ");
        let names = match (name.is_in_file, &*other) {
            (true, "") => name.name.to_owned(),
            (true, other) => format!("{} ({other})", name.name),
            (false, other) => other.to_owned(),
        };
        let default = match name.default {
            "-" => String::new(),
            default => format!(" [default: {default}]"),
        };
        format!("\n  {names}{default}\n          {}", name.what)
    };
    let (in_file, elsewhere): (Vec<&Name>, Vec<&Name>) =
        NAMES.into_iter().partition(|name| name.is_in_file);
    format!(
        "A setting comes from the first of these that has it: its flag, the environment, \
         [profile.NAME] in config.toml, the rest of config.toml. Secrets are shown as {SET}, and \
         do not belong in config.toml: `kiln config login` stores the API key.\n\n\
         Settings in config.toml:{}\n\n\
         Other settings:{}",
        in_file.iter().map(line).collect::<String>(),
        elsewhere.iter().map(line).collect::<String>()
    )
}

pub async fn run(context: &Context, options: Options) -> Result<(), Failure> {
    match options.action.unwrap_or(Action::List) {
        Action::List => list(context),
        Action::Get { name } => get(context, &name),
        Action::Set { name, value } => set(context, &name, &value),
        Action::Unset { name } => change(context, named(&name)?, &[]),
        Action::Edit => edit(context).await,
        Action::Path => {
            let path = context.settings.path()?;
            context.output.result(|| path.display().to_string(), || json!({ "path": path }))
        }
        Action::Login => login::login(context).await,
        Action::Logout => login::logout(context),
        Action::Profiles => profiles(context),
        Action::Completions { shell } => install::completions(context, shell),
        Action::Man { directory } => install::pages(context, &directory),
    }
}

fn list(context: &Context) -> Result<(), Failure> {
    let settings = context.settings.reload()?;
    let (mut rows, mut list) = (Vec::new(), Vec::new());
    for name in NAMES {
        let (value, source) = in_effect(&settings, name);
        let source = source.to_string();
        list.push(json!({ "name": name.name, "value": value, "source": source }));
        rows.push([name.name.to_owned(), shown(&value), source]);
    }
    let table = Table::with_heading(["SETTING", "VALUE", "SOURCE"], rows).wrapped(&[0, 1, 2]);
    let path = settings.path()?;
    context.output.result(
        || context.process().stdout.table(&table),
        || json!({ "path": path, "settings": list }),
    )
}

fn get(context: &Context, name: &str) -> Result<(), Failure> {
    let settings = context.settings.reload()?;
    let name = names::find(name).ok_or_else(|| Failure::usage("unknown setting"))?;
    let (value, source) = in_effect(&settings, name);
    let is_set = source != Source::Default || name.has_default();
    let value = if is_set { value } else { Value::Null };
    if value.is_null() && !context.output.json {
        let name = name.name;
        return Err(Failure::new("settings", Exit::Unset, format!("`{name}` is not set"))
            .advise(format!("`kiln config set {name} VALUE` sets it")));
    }
    context.output.result(
        || {
            // For scripts, with a line for each item of a list.
            let items = value.as_array().map_or(std::slice::from_ref(&value), Vec::as_slice);
            items.iter().map(shown).collect::<Vec<_>>().join("\n")
        },
        || json!({ "name": name.name, "value": value, "source": source.to_string() }),
    )
}

fn set(context: &Context, name: &str, texts: &[String]) -> Result<(), Failure> {
    let name = named(name)?;
    if !name.is_list && texts.len() > 1 {
        return Err(Failure::usage(format!("`{}` has one value", name.name))
            .advise("quote a value that contains spaces"));
    }
    check(&context.settings, name, texts).map_err(without_place)?;
    change(context, name, texts)
}

/// Refuses values that a client would refuse. Commands that only read the file check less, because
/// the environment may replace the URLs in it.
pub fn check(settings: &Settings, name: &Name, texts: &[String]) -> Result<(), Failure> {
    texts.iter().try_for_each(|text| {
        let Some(client) = settings.trial(name, text)? else { return Ok(()) };
        let tls = service::tls(false)?;
        client.http_client(move |http| http.tls_backend_preconfigured(tls.clone())).build()?;
        Ok(())
    })
}

/// Removes the name of the setting from a failure, so that its message does not blame the variable
/// or the file: the user has just typed the value.
pub fn without_place(mut failure: Failure) -> Failure {
    failure.setting = None;
    failure
}

/// Sets a setting to these texts, or removes it if there are none.
fn change(context: &Context, name: &Name, texts: &[String]) -> Result<(), Failure> {
    let settings = &context.settings;
    let is_changed = settings.edit(name, texts)?;
    let path = settings.path()?;
    let profile = settings.profile.section();
    let place = match profile {
        Some(profile) => format!("[profile.{profile}] of {}", path.display()),
        None => path.display().to_string(),
    };
    let people = match (texts.is_empty(), is_changed) {
        (false, _) => format!("set `{}` in {place}", name.name),
        (true, true) => format!("removed `{}` from {place}", name.name),
        (true, false) => format!("`{}` is not set in {place}", name.name),
    };
    let here = profile.map_or(Source::File, |profile| Source::Profile(profile.to_owned()));
    let found = settings.with_file()?.find(name);
    if let Some(Found { source, .. }) = found.filter(|found| found.source != here) {
        context.output.warning(&format!("{source} precedes it"));
    }
    context.output.result(
        || people,
        || json!({ "name": name.name, "changed": is_changed, "profile": profile, "path": path }),
    )
}

fn profiles(context: &Context) -> Result<(), Failure> {
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

async fn edit(context: &Context) -> Result<(), Failure> {
    let (process, path) = (context.process(), context.settings.path()?);
    if !process.stdin.is_terminal {
        // Without a terminal, most editors would wait for keys for ever.
        let problem = "could not open an editor: standard input is not a terminal";
        let advice = format!("use `kiln config set`, or edit {}", path.display());
        return Err(Failure::usage(problem).advise(advice));
    }
    let editor = ["VISUAL", "EDITOR"].into_iter().find_map(|name| process.variable(name));
    let default = if cfg!(windows) { "notepad" } else { "vi" };
    let editor = editor.map_or(default.to_owned(), |editor| editor.to_string_lossy().into_owned());
    if !path.exists() {
        let failed = |error| Failure::file(format!("could not write {}", path.display()), error);
        write_private(&path, "").map_err(failed)?;
    }
    // The variables may also contain arguments, as in `code --wait`.
    let mut words = editor.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or(default));
    let failed = |error| {
        Failure::file(format!("could not run the editor `{}`", printable(&editor)), error)
            .advise("set VISUAL or EDITOR to the command of your editor")
    };
    let ended = command.args(words).arg(&path).status().await.map_err(failed)?;
    let settings = context.settings.with_file()?;
    for name in names::in_file() {
        let found = settings.find(name).map(|found| found.texts).unwrap_or_default();
        check(&settings, name, &found).map_err(|failure| settings.explain(failure))?;
    }
    if ended.success() { Ok(()) } else { Err(failed(io::Error::other(ended.to_string()))) }
}

/// Returns the value in effect of a setting, and its source. The value is `[set]` for a secret, and
/// `null` if the setting is not set and has no default.
fn in_effect(settings: &Settings, name: &'static Name) -> (Value, Source) {
    let found = if name.name == PROFILE.name {
        let profile = settings.profile.clone();
        Some(Found { texts: vec![profile.name], source: profile.source })
    } else if name.name == API_KEY.name {
        key::source(settings).map(|source| Found { texts: vec![SET.to_owned()], source })
    } else {
        settings.find(name)
    };
    let Some(Found { texts, source }) = found else {
        let value = if name.default == NOT_SET { Value::Null } else { json!(name.default) };
        return (value, Source::Default);
    };
    let mut texts = name.without_secrets(texts).into_iter();
    let value = if name.is_list { texts.collect() } else { texts.next().into() };
    (value, source)
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => NOT_SET.to_owned(),
        Value::String(text) => printable(text),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
