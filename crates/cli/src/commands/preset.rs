//! `kiln preset`: lists, shows, saves and removes presets. A preset has a name, and contains the
//! model, the fields and the prompt of pictures that belong together.

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use super::batch::ledgers;
use crate::{
    args::completers::{self, Submissions},
    context::Context,
    failure::Failure,
    history::{Made, request},
    models::{PROMPT, SEED},
    settings::presets::Preset,
    text::{printable, printable_lines},
};
use imagekiln::FieldKind;

pub const NAME: &str = "preset";

/// List the presets, and save or remove one
#[derive(Args)]
#[command(
    after_help = "\
Examples:
  kiln preset save poster --from @3 --prompt \"a poster of {prompt}, in {colors}\"
  kiln generate \"a red fox\" --preset poster --part colors=\"blue and gold\"

A preset is [preset.NAME] in config.toml: a model, values of its fields, and a prompt in which
{prompt} is that of the command and other names are those of --part. Flags precede a preset, and a
preset precedes the settings.",
    disable_help_subcommand = true
)]
pub struct Options {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Subcommand)]
enum Action {
    /// List the presets; `kiln preset` does the same
    List,
    /// Print a preset as it is in config.toml
    Show {
        #[arg(value_name = "NAME", add = completers::presets())]
        name: String,
    },
    /// Save the model and the fields of a picture, without its seed and its images
    Save {
        /// Lowercase letters, digits, `-` and `_`; a preset with this name is replaced
        #[arg(value_name = "NAME")]
        new_preset: String,
        /// The picture: @last, @3, a task, or a file
        #[arg(long, value_name = "PICTURE", add = completers::submissions(Submissions::Any))]
        from: String,
        /// The prompt, with {prompt} for that of the command, and other parts for --part
        #[arg(long, value_name = "TEXT")]
        prompt: Option<String>,
    },
    /// Remove a preset from config.toml
    Remove {
        #[arg(value_name = "NAME", add = completers::presets())]
        name: String,
    },
}

pub fn run(context: &Context, options: Options) -> Result<(), Failure> {
    let settings = &context.settings;
    match options.action.unwrap_or(Action::List) {
        Action::List => list(context),
        Action::Show { name } => {
            let preset = settings.preset(&name)?;
            context.output.result(
                || printable_lines(preset.text(&name).trim_end()),
                || described(&name, preset),
            )
        }
        Action::Save { new_preset: name, from, prompt } => {
            let preset = of_picture(context, &from, prompt)?;
            settings.edit_preset(&name, Some(&preset))?;
            context.output.note(&format!("saved the preset {name}: `--preset {name}` uses it"));
            Ok(())
        }
        Action::Remove { name } => {
            settings.preset(&name)?;
            settings.edit_preset(&name, None)?;
            context.output.note(&format!("removed the preset {name}"));
            Ok(())
        }
    }
}

fn list(context: &Context) -> Result<(), Failure> {
    let presets: Vec<_> = context.settings.presets().collect();
    if presets.is_empty() {
        context.output.note("there are no presets; `kiln preset save` makes one of a picture");
        return Ok(());
    }
    let line = |(name, preset): &(&str, &Preset)| {
        let fields = preset.fields.iter().map(|(name, value)| format!("{name}={value}"));
        let fields: Vec<_> = fields.collect();
        let prompt = preset.prompt.as_ref().map(|prompt| format!(": {prompt}"));
        printable(&format!(
            "{name}  {} {}{}",
            preset.model,
            fields.join(" "),
            prompt.unwrap_or_default()
        ))
    };
    context.output.result(
        || presets.iter().map(line).collect::<Vec<_>>().join("\n"),
        || presets.iter().map(|(name, preset)| described(name, preset)).collect(),
    )
}

fn described(name: &str, preset: &Preset) -> Value {
    let fields: Map<String, Value> = preset.fields.iter().cloned().collect();
    json!({ "name": name, "model": preset.model.name, "prompt": preset.prompt, "fields": fields })
}

fn of_picture(context: &Context, picture: &str, prompt: Option<String>) -> Result<Preset, Failure> {
    let made = Made::find(context.process(), picture, ledgers::described)?;
    let (Some(kept), Some(model)) = (made.request(), made.operation()) else {
        let problem = format!("the request of {} could not be kept", made.name());
        return Err(Failure::usage(problem).advise("choose another picture"));
    };
    let is_kept = |name: &str, value: &Value| {
        let is_image = model
            .field(name)
            .is_some_and(|field| matches!(field.kind, FieldKind::Image { .. } | FieldKind::Secret));
        ![PROMPT, SEED].contains(&name) && !is_image && !value.is_object() && !value.is_null()
    };
    let fields = request::fields(kept).into_iter().filter(|(name, value)| is_kept(name, value));
    let model = [("model".to_owned(), model.name.into())];
    let prompt = prompt.map(|prompt| (PROMPT.to_owned(), prompt.into()));
    Preset::new(model.into_iter().chain(prompt).chain(fields).collect()).map_err(|problem| {
        Failure::usage(format!("could not save the preset: {problem}"))
            .advise("nothing was changed")
    })
}
