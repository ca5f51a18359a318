//! Tips for words and flags that the parser does not know.

use clap::error::{ContextKind, ContextValue};

use super::texts;
use crate::{
    commands::{edit, generate, tools},
    models,
    text::sanitize::one_line,
};
use imagekiln::Operation;

/// The commands whose flags are the fields of any model.
pub const COMMANDS: [&str; 2] = [generate::NAME, edit::NAME];

/// Adds a tip to an unknown command: a prompt or a model without its command.
pub fn on_command(mut error: clap::Error) -> clap::Error {
    let word = texts(&error, ContextKind::InvalidSubcommand).join(" ");
    let tip = if let Some(model) = models::find(&word) {
        format!("to run a model, use 'kiln run {model}'")
    } else if word.contains(char::is_whitespace) {
        "to make a picture from a prompt, use 'kiln generate PROMPT'".to_owned()
    } else {
        return error;
    };
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    error
}

/// Adds tips to an unknown argument: its meaning for other models, and how to send it anyway.
/// `model` is the model whose fields are the flags of the command.
pub fn on_argument(
    mut error: clap::Error,
    command: &str,
    model: Option<&'static Operation>,
) -> clap::Error {
    let argument = texts(&error, ContextKind::InvalidArg).join(" ");
    let is_similar = error.get(ContextKind::SuggestedArg).is_some();
    let tips = match argument.strip_prefix("--") {
        Some(flag) => model.map(|model| on_flag(flag, model, is_similar)).unwrap_or_default(),
        None if argument.starts_with('-') => Vec::new(),
        None if COMMANDS.contains(&command) => {
            vec!["a prompt of several words needs quotes: \"a red fox\"".to_owned()]
        }
        None => tools::find(command).map(|tool| tool.takes()).into_iter().collect(),
    };
    // Replaces the parser's own tip, which is to pass the flag as a prompt.
    let tips = tips.into_iter().map(Into::into).collect();
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    error
}

/// `is_similar` is whether the parser suggests a similar flag.
fn on_flag(flag: &str, model: &'static Operation, is_similar: bool) -> Vec<String> {
    let flag = one_line(flag.split('=').next().unwrap_or_default());
    let field = flag.replace('-', "_");
    let others = models::models().filter(|model| model.field(&field).is_some());
    let others: Vec<&str> = others.map(|model| model.name).collect();
    let mut tips = Vec::new();
    if !others.is_empty() {
        tips.push(format!("`{field}` is a field of {}", others.join(", ")));
    }
    if !model.all_fields_shown {
        tips.push(format!(
            "the contract does not list all fields of {model}: to send this one, use '--extra \
             {field}=VALUE'"
        ));
    } else if others.is_empty() && !is_similar {
        tips.push(format!("'kiln run {model} --help' lists the fields of {model}"));
    }
    tips
}
