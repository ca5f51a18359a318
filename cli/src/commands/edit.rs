//! `kiln edit PROMPT IMAGE...`: makes a picture from a prompt and images.

use std::ffi::OsString;

use clap::{Arg, ArgMatches, Command, ValueHint, value_parser};

use super::chosen_model::{any_model, chosen, default_model, of_model, with_prompt};
use crate::{
    args::{
        image::Images,
        prompt::{self, PROMPT},
        request,
    },
    context::Context,
    failure::Failure,
    making,
};
use imagekiln::{FieldKind, Operation, text::counted};

pub const NAME: &str = "edit";

const EXAMPLES: &str = "\
Examples:
  kiln edit \"give the cat this hat\" cat.png hat.png -o cat-with-hat.png
  kiln edit \"at night\" - -o night.png < cat.png";

pub fn command(chosen: &'static Operation) -> Command {
    let command = Command::new(NAME)
        .about("Edit images with a prompt: submit, wait, save")
        .arg(prompt::arg("What to change"))
        .arg(
            Arg::new("images")
                .value_name("IMAGE")
                .required(true)
                .num_args(1..)
                .value_parser(value_parser!(OsString))
                .value_hint(ValueHint::FilePath)
                .help(
                    "Images, for the model's image fields in their order: a path, an http(s) URL, \
                     or `-`",
                ),
        );
    of_model(command, chosen, any_model(), &[PROMPT], EXAMPLES)
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let model = chosen(matches, default_model(context)?)?;
    let given: Vec<&OsString> = matches.get_many("images").into_iter().flatten().collect();
    let fields = fields_for(model, given.len())?;
    let mut images = Images::of(context.process());
    let prompt = prompt::read(matches, &mut images, NAME)?;
    let mut request = request::from_flags(model, matches, &mut images)?;
    for (field, given) in fields.into_iter().zip(given) {
        request = request.image(field, images.read(given)?);
    }
    making::make(context, with_prompt(request, prompt)?, &[], matches).await
}

/// The fields of `count` images. Masks have a flag of their own and are left out.
fn fields_for(model: &'static Operation, count: usize) -> Result<Vec<&'static str>, Failure> {
    let fields = model
        .fields
        .iter()
        .filter(|field| matches!(field.kind, FieldKind::Image { mask_of: None, .. }));
    let fields: Vec<&str> = fields.map(|field| field.name).collect();
    let problem = match fields.len() {
        0 => format!("the contract lists no image field for {model}"),
        most if count > most => {
            let most = counted(most, "image");
            format!("{model} accepts at most {most}, but {count} were given")
        }
        _ => return Ok(fields),
    };
    let advice = if fields.is_empty() {
        format!("nothing was sent; use `kiln run {} --extra-image NAME=IMAGE`", model.name)
    } else {
        "nothing was sent; pass fewer images, or choose another --model (see `kiln models`)"
            .to_owned()
    };
    Err(Failure::usage(problem).advise(advice))
}
