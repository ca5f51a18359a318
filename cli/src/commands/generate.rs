//! `kiln generate PROMPT`: makes a picture from a prompt.

use clap::{ArgMatches, Command};

use super::{
    chosen_model::{any_model, chosen, default_model, of_model, takes_prompt},
    edit,
};
use crate::{
    args::{
        image::Images,
        prompt::{self, PROMPT},
        request,
    },
    context::Context,
    failure::Failure,
    making::{self, plan::Variant},
};
use imagekiln::Operation;

pub const NAME: &str = "generate";

const EXAMPLES: &str = "\
Examples:
  kiln generate \"a red fox in the snow\" -o fox.png
  kiln generate @prompt.txt -m gen-2-flex -s 1024x768 -o fox.webp";

pub fn command(chosen: &'static Operation) -> Command {
    let command = Command::new(NAME)
        .about("Generate a picture from a prompt: submit, wait, save")
        .arg(prompt::several("What the picture shows, or several pictures"));
    of_model(command, chosen, any_model(), &[PROMPT], EXAMPLES)
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let mut images = Images::of(context.process());
    let prompts = prompt::read_all(matches, &mut images, edit::NAME)?;
    let model = chosen(matches, default_model(context)?)?;
    let request = request::with_defaults(&context.settings, model, matches, &mut images)?;
    takes_prompt(model)?;
    let variants: Vec<_> = prompts.into_iter().map(Variant::Prompt).collect();
    making::make(context, request, &variants, matches).await
}
