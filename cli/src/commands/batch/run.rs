//! `kiln batch run JOBS`: reads all jobs, then runs them.

use clap::{Arg, ArgAction, ArgMatches, Command};

use super::{arguments, plan};
use crate::{
    args::{model, value::credits},
    context::Context,
    failure::Failure,
    jobs,
};
use imagekiln::Operation;

pub const NAME: &str = "run";

const IMAGE: &str = "An IMAGE is a path or an http(s) URL.";

pub fn command(chosen: &'static Operation) -> Command {
    let command = Command::new(NAME)
        .about("Run the jobs of a file or a matrix")
        .after_help(format!("{}\n{}", model::description(chosen), model::notes(chosen, IMAGE)));
    arguments::of_model(command, chosen, &options())
}

fn options() -> [Arg; 3] {
    let option = |name: &'static str| Arg::new(name).long(name);
    [
        option("output")
            .short('o')
            .value_name("DIR-OR-URL")
            .required(true)
            .help("Where to save the pictures")
            .help_heading("Output"),
        option("price")
            .value_name("CREDITS")
            .value_parser(credits)
            .help("The price of each job, to estimate the costs with --dry-run")
            .help_heading("Run"),
        option("dry-run")
            .action(ArgAction::SetTrue)
            .help("Validate all jobs and print what would run; sends nothing, and needs no key")
            .help_heading("Run"),
    ]
}

pub fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let source = arguments::source(matches)?;
    let jobs = jobs::read(&source, &arguments::defaults(matches, &source)?)?;
    if !matches.get_flag("dry-run") {
        return Err(Failure::usage("this version can only plan batches")
            .advise("nothing was sent; add --dry-run"));
    }
    let output = matches.get_one::<String>("output").map(String::as_str).unwrap_or_default();
    let price = matches.get_one::<f64>("price").copied();
    plan::print(context, &source, &jobs, output, |_| price)
}
