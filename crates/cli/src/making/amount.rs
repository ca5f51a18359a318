//! Asks before a command makes many pictures: `kiln edit many/*.png`, or a digit too many after
//! `-n`, would pay for all of them without a word.

use clap::{Arg, ArgAction, ArgMatches};

use super::plan::Planned;
use crate::{
    context::Context,
    failure::Failure,
    process::{
        interrupt::Interrupts,
        question::{can_ask, confirm},
    },
    settings::names::ASK_ABOVE,
    text::sanitize::one_line,
};
use imagekiln::text::{Credits, counted};

const YES: &str = "yes";

pub fn yes_arg() -> Arg {
    Arg::new(YES)
        .long(YES)
        .short('y')
        .action(ArgAction::SetTrue)
        .hide_short_help(true)
        .help("Make any number of pictures without a question; see the setting ask_above")
}

/// Asks whether prompts of a single word are several prompts, and not one without quotes. Without a
/// terminal, the command fails.
pub async fn check_words(
    context: &Context,
    prompts: &[&str],
    matches: &ArgMatches,
) -> Result<(), Failure> {
    if insists(matches) {
        return Ok(());
    }
    let (process, count) = (context.process(), prompts.len());
    if context.output.json || !can_ask(process) {
        let problem = format!("{count} prompts are given, and one of them is a single word");
        return Err(Failure::usage(problem).advise(format!(
            "nothing was sent; a prompt of several words needs quotes: \"{}\"; to make a picture \
             of each, pass --yes",
            one_line(&prompts.join(" "))
        )));
    }
    let interrupts = Interrupts::listen(process)?;
    let quoted: Vec<_> = prompts.iter().map(|prompt| format!("`{}`", one_line(prompt))).collect();
    let question = format!("Make {count} pictures, of {}?", quoted.join(" and "));
    if confirm(process, &interrupts, &question).await? {
        Ok(())
    } else {
        Err(Failure::not_submitted())
    }
}

fn insists(matches: &ArgMatches) -> bool {
    matches.try_get_one(YES).ok().flatten().is_none_or(|insists| *insists)
}

/// Asks whether to make these pictures if there are more than the user makes without a question.
/// Without a terminal, the command fails. Simulated pictures cost nothing.
pub async fn check(
    context: &Context,
    planned: &[Planned],
    matches: &ArgMatches,
    interrupts: &Interrupts,
) -> Result<(), Failure> {
    let most = context.settings.ask_above();
    if insists(matches) || context.shared.simulate || planned.len() <= most {
        return Ok(());
    }
    let prices = planned.iter().map(|planned| context.settings.price_of(&planned.request));
    let price = match prices.sum::<Option<f64>>() {
        Some(price) => format!(" for {}", counted(Credits(price), "credit")),
        None => ", whose price is not known".to_owned(),
    };
    let amount = format!("{} pictures{price}", planned.len());
    let process = context.process();
    if context.output.json || !can_ask(process) {
        return Err(Failure::usage(format!("{amount}: more than {most}, and nobody can be asked"))
            .advise(format!(
                "nothing was sent; pass --yes, or `kiln config set {} NUMBER`",
                ASK_ABOVE.name
            )));
    }
    if confirm(process, interrupts, &format!("Make {amount}?")).await? {
        Ok(())
    } else {
        Err(Failure::not_submitted())
    }
}
