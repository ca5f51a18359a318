//! `kiln open PICTURE`: opens a saved picture.

use clap::Args;

use crate::{
    args::completers::{self, Submissions},
    context::Context,
    failure::Failure,
    history::find::{self, Made},
    seeing,
};

pub const NAME: &str = "open";

/// Open a saved picture with the desktop's program for it
#[derive(Args)]
pub struct Options {
    #[arg(value_name = "PICTURE", help = find::PICTURE_HELP)]
    #[arg(add = completers::submissions(Submissions::Any))]
    picture: String,
}

pub async fn run(context: &Context, options: Options) -> Result<(), Failure> {
    let made = Made::find(context.process(), &options.picture)?;
    let name = made.name();
    let Some(path) = made.path() else {
        let saved = format!("`kiln task save {name}` saves it if its task continues");
        return Err(Failure::usage(format!("the picture {name} is not saved in a file"))
            .advise(format!("{saved}, and `kiln again {name}` makes another one")));
    };
    if !path.exists() {
        let problem = format!("{} no longer exists", path.display());
        return Err(Failure::usage(problem).advise(format!(
            "`kiln again {name}` makes the picture again, and pays for it again"
        )));
    }
    seeing::opened(path)
        .await
        .map_err(|why| Failure::usage(format!("could not open {}: {why}", path.display())))
}
