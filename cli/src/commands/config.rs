//! `kiln config`: shows the settings in effect and the source of each.

use clap::{ArgMatches, Command};
use serde_json::{Value, json};

use crate::{
    context::Context,
    failure::Failure,
    output::write_failed,
    settings::{
        Found, Settings, Source, key,
        names::{NAMES, Name},
        text,
    },
    text::{sanitize::printable, table::Table},
};
use imagekiln::{ALLOW_HTTP_VARIABLE, Address, WEBHOOK_SECRET_VARIABLE};

pub const NAME: &str = "config";

const PATH: &str = "path";

/// The text that is shown in place of secrets.
const SET: &str = "[set]";
const NOT_SET: &str = "-";

pub fn command() -> Command {
    Command::new(NAME)
        .about("Show the settings in effect, and the source of each")
        .disable_help_subcommand(true)
        .subcommand(Command::new(PATH).about("Print the path of config.toml"))
        .after_help(format!(
            "A setting comes from the first of these that has it: its flag, the environment,\n\
             [profile.NAME] in config.toml, the rest of config.toml. Secrets are shown as {SET},\n\
             and do not belong in config.toml: `kiln login` stores the API key.\n\n{}",
            table_of_names()
        ))
}

/// The settings of `config.toml` with their flags and variables.
fn table_of_names() -> String {
    let line = |name: &&Name| {
        let other: Vec<_> = [name.flag, name.variable].into_iter().flatten().collect();
        format!("\n  {:<22}{}", name.name, other.join(", "))
    };
    format!("Settings in config.toml:{}", NAMES.iter().map(line).collect::<String>())
}

pub fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let path = context.settings.directory()?.join("config.toml");
    if matches.subcommand_name() == Some(PATH) {
        return context.output.result(|| path.display().to_string(), || json!({ "path": path }));
    }
    let settings = Settings::load(context.process(), context.globals.profile.as_deref())?;
    let rows = rows(context, &settings)?;
    if context.output.json {
        let rows = rows.into_iter().map(
            |row| json!({ "name": row.name, "value": row.value, "source": row.source.to_string() }),
        );
        let settings: Vec<Value> = rows.collect();
        return context
            .output
            .result(String::new, || json!({ "path": path, "settings": settings }));
    }
    let table = context.process().stdout.table(&table(&rows));
    context.process().line_on_stdout(&table).or_else(write_failed)
}

/// A line of the table. The value is `null` if there is none, `[set]` for a secret.
struct Row {
    name: &'static str,
    value: Value,
    source: Source,
}

fn rows(context: &Context, settings: &Settings) -> Result<Vec<Row>, Failure> {
    let profile = &settings.profile;
    let mut rows = vec![
        Row { name: "profile", value: json!(profile.name), source: profile.source.clone() },
        api_key(settings)?,
    ];
    rows.extend(NAMES.into_iter().map(|name| row(settings, name)));
    rows.extend([
        of_variable(context, "webhook_secret", WEBHOOK_SECRET_VARIABLE, |_| json!(SET)),
        of_variable(context, "allow_http", ALLOW_HTTP_VARIABLE, |text| json!(text)),
    ]);
    Ok(rows)
}

fn api_key(settings: &Settings) -> Result<Row, Failure> {
    let name = "api_key";
    Ok(match key::find(settings)? {
        Some(key) => Row { name, value: json!(SET), source: key.source },
        None => Row { name, value: Value::Null, source: Source::Default },
    })
}

fn row(settings: &Settings, name: &'static Name) -> Row {
    let Some(Found { texts, source }) = settings.find(name) else {
        let value = if name.default == NOT_SET { Value::Null } else { json!(name.default) };
        return Row { name: name.name, value, source: Source::Default };
    };
    // The query of a URL may contain a secret.
    let is_url = name.name.ends_with("_url");
    let shown = |text: String| if is_url { url(&text) } else { text };
    let mut texts = texts.into_iter().map(shown);
    let value = if name.is_list { texts.collect() } else { texts.next().into() };
    Row { name: name.name, value, source }
}

/// A URL without its user and its query.
fn url(text: &str) -> String {
    let shown = Address::from(text).to_string();
    let is_bare = !text.ends_with('/');
    shown.strip_suffix('/').filter(|_| is_bare).map_or(shown.clone(), str::to_owned)
}

fn of_variable(
    context: &Context,
    name: &'static str,
    variable: &'static str,
    shown: fn(String) -> Value,
) -> Row {
    match text(context.process(), variable).ok().flatten() {
        Some(text) => Row { name, value: shown(text), source: Source::Variable(variable) },
        None => Row { name, value: Value::Null, source: Source::Default },
    }
}

fn table(rows: &[Row]) -> Table<3> {
    let cells =
        rows.iter().map(|row| [row.name.to_owned(), shown(&row.value), row.source.to_string()]);
    Table::with_heading(["SETTING", "VALUE", "SOURCE"], cells).wrapped(&[0, 1, 2])
}

/// A value on one line.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => NOT_SET.to_owned(),
        Value::String(text) => printable(text),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
