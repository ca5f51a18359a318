//! The positional arguments of a tool, and the field that each one sets.

use std::ffi::OsString;

use clap::{Arg, ArgMatches, ValueHint, value_parser};

use crate::{
    args::{image::Images, prompt},
    failure::Failure,
};
use imagekiln::{ImageInput, Request};

/// A positional argument. Its id is the name of its field.
pub struct Argument {
    pub field: &'static str,
    pub value_name: &'static str,
    pub help: &'static str,
    pub takes: Takes,
}

/// The kind of value that an argument takes.
pub enum Takes {
    Prompt,
    Image,
    /// A list of images, which may be empty.
    Images {
        most: usize,
    },
}

/// The value of an argument.
pub enum Given {
    Prompt(String),
    Image(ImageInput),
    Images(Vec<ImageInput>),
}

impl Argument {
    pub const fn prompt(help: &'static str) -> Self {
        Self { field: prompt::PROMPT, value_name: "PROMPT", help, takes: Takes::Prompt }
    }

    pub const fn image(field: &'static str, value_name: &'static str, help: &'static str) -> Self {
        Self { field, value_name, help, takes: Takes::Image }
    }

    pub fn is_prompt(&self) -> bool {
        matches!(self.takes, Takes::Prompt)
    }

    pub fn arg(&self) -> Arg {
        let arg = Arg::new(self.field)
            .value_name(self.value_name)
            .value_parser(value_parser!(OsString))
            .value_hint(ValueHint::FilePath)
            .help(self.help);
        match self.takes {
            Takes::Prompt => prompt::arg(self.help),
            Takes::Image => arg.required(true),
            Takes::Images { .. } => arg.num_args(0..),
        }
    }

    /// Reads the argument of a command.
    pub fn read(
        &self,
        command: &str,
        matches: &ArgMatches,
        images: &mut Images<'_>,
    ) -> Result<Given, Failure> {
        if self.is_prompt() {
            return prompt::read(matches, images, command).map(Given::Prompt);
        }
        let given: Vec<&OsString> = matches.get_many(self.field).into_iter().flatten().collect();
        match self.takes {
            Takes::Images { most } if given.len() > most => {
                let problem = format!(
                    "`kiln {command}` takes at most {most} images, but {} were given",
                    given.len()
                );
                Err(Failure::usage(problem).advise("nothing was sent; pass fewer images"))
            }
            Takes::Images { .. } => {
                let read = given.into_iter().map(|given| images.read(given));
                read.collect::<Result<_, _>>().map(Given::Images)
            }
            _ => {
                let given = given.last().ok_or_else(|| Failure::usage("no image given"))?;
                images.read(given).map(Given::Image)
            }
        }
    }

    /// Sets the field. An empty list is not sent.
    pub fn set(&self, request: Request, given: Given) -> Request {
        match given {
            Given::Prompt(prompt) => request.field(self.field, prompt),
            Given::Image(image) => request.image(self.field, image),
            Given::Images(images) if images.is_empty() => request,
            Given::Images(images) => request.images(self.field, images),
        }
    }
}
