//! `kiln edit PROMPT IMAGE...`: makes a picture from a prompt and images. `kiln edit IMAGE...
//! --prompt PROMPT`: makes a picture from each image.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
};

use clap::{Arg, ArgMatches, Command, ValueHint, value_parser};

use super::chosen_model::{any_model, chosen, default_model, of_model, with_prompt};
use crate::{
    args::{
        completers,
        image::Images,
        prompt::{self, PROMPT},
        request,
    },
    context::Context,
    failure::Failure,
    making::{self, plan::Variant},
};
use imagekiln::{
    FieldKind, Operation,
    text::{counted, is_url},
};

pub const NAME: &str = "edit";

const EXAMPLES: &str = "\
Examples:
  kiln edit \"give the cat this hat\" cat.png hat.png -o cat-with-hat.png
  kiln edit *.jpg --prompt \"at night\" -o night/ --mkdir

With --prompt, each image makes a picture of its own, named after the image.";

const IMAGES: &str = "images";
const EACH: &str = "prompt for each image";

const USAGE: &str = "\
kiln edit [OPTIONS] <PROMPT> <IMAGE>...
       kiln edit [OPTIONS] --prompt <PROMPT> <IMAGE>...";

pub fn command(chosen: &'static Operation) -> Command {
    let command = Command::new(NAME)
        .about("Edit images with a prompt: submit, wait, save")
        .override_usage(USAGE)
        .arg(prompt::arg("What to change"))
        .arg(
            Arg::new(EACH)
                .long(PROMPT)
                .value_name("PROMPT")
                .help("What to change in each image, which makes a picture of its own")
                .add(completers::prompt()),
        )
        .arg(
            Arg::new(IMAGES)
                .value_name("IMAGE")
                .required_unless_present(EACH)
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
    let mut given: Vec<&OsString> = matches.get_many(IMAGES).into_iter().flatten().collect();
    let mut images = Images::of(context.process());
    if let Some(prompt) = matches.get_one::<String>(EACH) {
        let first = matches.get_one::<String>(PROMPT).map(OsString::from);
        given.splice(..0, &first);
        return edit_each(context, model, prompt, &given, matches).await;
    }
    let fields = fields_for(model, given.len())?;
    let prompt = prompt::read(matches, &mut images, NAME)?;
    let mut request = request::with_defaults(&context.settings, model, matches, &mut images)?;
    for (field, given) in fields.into_iter().zip(given) {
        request = request.image(field, images.read(given)?);
    }
    making::make(context, with_prompt(request, prompt)?, &[], matches).await
}

/// Makes a picture from each image.
async fn edit_each(
    context: &Context,
    model: &'static Operation,
    prompt: &str,
    given: &[&OsString],
    matches: &ArgMatches,
) -> Result<(), Failure> {
    let mut images = Images::of(context.process());
    let fields = fields_for(model, 1)?;
    let field = fields.first().copied().unwrap_or_default();
    let prompt = prompt::read_one(prompt, &mut images, NAME)?;
    let request = request::with_defaults(&context.settings, model, matches, &mut images)?;
    let variant = |given: &&OsString| {
        Ok(Variant::Image { field, image: images.read(given)?, name: name_of(given) })
    };
    let variants: Vec<_> = given.iter().map(variant).collect::<Result<_, Failure>>()?;
    making::make(context, with_prompt(request, prompt)?, &variants, matches).await
}

/// The name of an image without its ending. The query of a URL may be secret.
fn name_of(given: &OsStr) -> String {
    let text = given.to_string_lossy();
    let path = if is_url(&text) { text.split(['?', '#']).next() } else { Some(&*text) };
    let name = path.and_then(|path| Path::new(path).file_stem()).unwrap_or_default();
    name.to_string_lossy().into_owned()
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
