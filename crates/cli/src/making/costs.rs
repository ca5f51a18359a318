//! The expected costs of the pictures of a command. The command asks before it makes many or
//! expensive pictures, because `kiln edit many/*.png`, or a digit too many after `-n`, would
//! otherwise pay for all of them without a question. It also keeps within `--budget`.

use std::collections::HashMap;

use clap::{ArgMatches, Args, FromArgMatches as _};

use super::plan::Planned;
use crate::{
    args::options::SIZES,
    context::Context,
    failure::Failure,
    history::{self, Entry, request},
    process::{
        Interrupts,
        question::{agree, can_ask},
    },
    settings::names::{ASK_ABOVE, ASK_ABOVE_CREDITS},
    text::{one_line, parse::credits},
};
use imagekiln::text::{Credits, counted};

/// How many of the newest submissions are searched for known costs. Each is a file to read.
const NEWEST: usize = 1000;

#[derive(Debug, Clone, Args)]
pub struct CostOptions {
    /// Stop before the pictures of this command cost more credits than this
    #[arg(long, value_name = "CREDITS", value_parser = credits, hide_short_help = true)]
    budget: Option<f64>,
    /// Make any number of pictures without a question; see the setting ask_above
    #[arg(long, short, hide_short_help = true)]
    yes: bool,
}

/// The expected cost of a picture.
#[derive(Debug, Clone, Copy)]
pub struct Expected {
    pub credits: f64,
    /// The number of the earlier submission, of the same model and size, that had this cost. `None`
    /// if the price is configured.
    pub as_number: Option<u64>,
}

impl Expected {
    /// For example `, about 3 credits`.
    pub fn for_progress(self) -> String {
        let about = if self.as_number.is_some() { "about " } else { "" };
        format!(", {about}{}", counted(Credits(self.credits), "credit"))
    }

    /// For example `about 3.00 credits a picture, like @12`.
    pub fn shown(self) -> String {
        let cost = Credits(self.credits);
        match self.as_number {
            Some(number) => format!("about {cost:.2} credits a picture, like @{number}"),
            None => format!("{cost:.2} credits a picture, as configured"),
        }
    }
}

/// Returns the expected cost of each picture: the configured price, or else the cost of the last
/// picture of the same model and size. Simulated pictures cost nothing.
pub fn expected(context: &Context, planned: &[Planned]) -> Vec<Option<Expected>> {
    if context.shared.simulate {
        let nothing = Expected { credits: 0.0, as_number: None };
        return vec![Some(nothing); planned.len()];
    }
    let price = |planned: &Planned| {
        let credits = context.settings.price_of(&planned.request)?;
        Some(Expected { credits, as_number: None })
    };
    let mut expected: Vec<_> = planned.iter().map(price).collect();
    if expected.iter().all(Option::is_some) {
        return expected;
    }
    let mut last = HashMap::new();
    let entries = history::read(context.process()).into_iter().flatten().take(NEWEST).flatten();
    let is_own =
        |entry: &Entry| entry.kept.profile.as_ref() == Some(&context.settings.profile.name);
    for entry in entries.filter(is_own) {
        let Some(credits) = entry.cost() else { continue };
        let Some(kept) = &entry.kept.request else { continue };
        let found = Expected { credits, as_number: Some(entry.number) };
        last.entry(what_it_is(kept)).or_insert(found);
    }
    for (planned, expected) in planned.iter().zip(&mut expected) {
        let known = || last.get(&what_it_is(planned.kept.as_ref()?)).copied();
        *expected = expected.or_else(known);
    }
    expected
}

/// The model and the size of a kept request.
fn what_it_is(kept: &serde_json::Value) -> (Option<String>, Vec<String>) {
    let sizes =
        SIZES.into_iter().filter_map(|name| request::field(kept, name)).map(ToString::to_string);
    (request::model(kept), sizes.collect())
}

/// Whether a sum is above a limit, by more than the rounding errors of sums such as 0.1 + 0.2.
pub fn exceeds(sum: f64, limit: f64) -> bool {
    sum > limit + 1e-6
}

/// The costs of all pictures, if all are known.
pub fn sum(expected: &[Option<Expected>]) -> Option<f64> {
    expected.iter().map(|expected| Some(expected.as_ref()?.credits)).sum()
}

/// Refuses pictures that are expected to cost more than the budget. Asks the user whether to make
/// the pictures if there are more than the setting `ask_above`, or if they cost more than
/// `ask_above_credits`. Without a terminal, the command fails instead of asking. Simulated pictures
/// cost nothing, so nobody is asked about them.
pub async fn check(
    context: &Context,
    expected: &[Option<Expected>],
    matches: &ArgMatches,
    interrupts: &Interrupts,
) -> Result<(), Failure> {
    let options = options(matches)?;
    let sum = sum(expected);
    let count = counted(expected.len() as u64, "picture");
    if let (Some(budget), Some(sum)) = (options.budget, sum)
        && exceeds(sum, budget)
    {
        let [sum, budget] = [sum, budget].map(|sum| counted(Credits(sum), "credit"));
        return Err(Failure::over_budget(format!(
            "{count} for about {sum}: more than the budget of {budget}"
        )));
    }
    let (most, most_credits) = (context.settings.ask_above(), context.settings.ask_above_credits());
    let is_expensive = sum.zip(most_credits).is_some_and(|(sum, most)| exceeds(sum, most));
    if options.yes || context.shared.simulate || expected.len() <= most && !is_expensive {
        return Ok(());
    }
    let price = match sum {
        Some(sum) => format!(" for {}", counted(Credits(sum), "credit")),
        None => ", whose price is not known".to_owned(),
    };
    let (most, setting) = match most_credits.filter(|_| is_expensive) {
        Some(most) => (counted(Credits(most), "credit"), ASK_ABOVE_CREDITS),
        None => (most.to_string(), ASK_ABOVE),
    };
    let process = context.process();
    if context.output.json || !can_ask(process) {
        let problem = format!("{count}{price}: more than {most}, and nobody can be asked");
        return Err(Failure::usage(problem).advise(format!(
            "nothing was sent; pass --yes, or `kiln config set {} NUMBER`",
            setting.name
        )));
    }
    agree(process, interrupts, &format!("Make {count}{price}?")).await
}

/// Asks whether several prompts are meant, if one of them is a single word: they may be one prompt
/// whose quotes are missing, and the command would pay for a picture of each word. Without a
/// terminal, the command makes two prompts that are single words, and no articles. It refuses all
/// others, because nobody can be asked.
pub async fn check_words(
    context: &Context,
    prompts: &[&str],
    matches: &ArgMatches,
) -> Result<(), Failure> {
    if options(matches)?.yes || context.shared.simulate {
        return Ok(());
    }
    let (process, count) = (context.process(), prompts.len());
    let quoted: Vec<_> = prompts.iter().map(|prompt| format!("`{}`", one_line(prompt))).collect();
    let quoted = quoted.join(" and ");
    let is_word = |prompt: &&str| {
        let is_article = ["a", "an", "the"].contains(&&*prompt.to_lowercase());
        !is_article && !prompt.contains(char::is_whitespace)
    };
    if context.output.json || !can_ask(process) {
        if count == 2 && prompts.iter().all(is_word) {
            let hint = "one prompt of several words needs quotes";
            context.output.note(&format!("2 prompts: {quoted}; {hint}"));
            return Ok(());
        }
        let problem = format!("{count} prompts are given, and one of them is a single word");
        return Err(Failure::usage(problem).advise(format!(
            "nothing was sent; a prompt of several words needs quotes: \"{}\"; to make a picture \
             of each, pass --yes",
            one_line(&prompts.join(" "))
        )));
    }
    let interrupts = Interrupts::listen(process)?;
    let question = format!("Make {count} pictures, of {quoted}?");
    agree(process, &interrupts, &question).await
}

/// The options of a command. `kiln again` has them, too.
fn options(matches: &ArgMatches) -> Result<CostOptions, Failure> {
    Ok(CostOptions::from_arg_matches(matches)?)
}

/// The credits that the pictures of a command may cost. A picture in progress counts with its
/// expected cost. As long as no cost is known, one picture is in progress at a time. A picture that
/// may have been billed at an unknown cost counts with the expected cost of the next picture. If
/// that cost is not known either, no other picture is submitted, because nobody can tell what is
/// left of the budget.
#[derive(Default)]
pub struct Budget {
    limit: f64,
    spent: f64,
    /// The highest cost of a picture of this command.
    highest: Option<f64>,
    /// The number of pictures that may have been billed and whose cost is not known.
    unpriced: u32,
    active: Vec<(usize, Option<f64>)>,
}

impl Budget {
    pub fn of(matches: &ArgMatches) -> Result<Self, Failure> {
        let limit = options(matches)?.budget.unwrap_or(f64::INFINITY);
        Ok(Self { limit, ..Self::default() })
    }

    fn cost(&self, expected: Option<Expected>) -> Option<f64> {
        let expected = expected.map(|expected| expected.credits);
        expected.into_iter().chain(self.highest).reduce(f64::max)
    }

    /// Whether another picture may be submitted now.
    pub fn allows(&self, expected: Option<Expected>) -> bool {
        if self.limit.is_infinite() {
            return true;
        }
        let active = self.active.iter().map(|(_, cost)| *cost).sum::<Option<f64>>();
        match (active, self.cost(expected)) {
            (Some(active), Some(cost)) => {
                let unpriced = f64::from(self.unpriced) * cost;
                !exceeds(self.spent + unpriced + active + cost, self.limit)
            }
            _ => self.active.is_empty() && self.unpriced == 0 && self.spent < self.limit,
        }
    }

    pub fn submitted(&mut self, index: usize, expected: Option<Expected>) {
        self.active.push((index, self.cost(expected)));
    }

    /// Notes that a picture has ended with this cost. If the cost is not known, the picture counts
    /// with its expected cost, because it may have been billed.
    pub fn ended(&mut self, index: usize, cost: Option<f64>, was_sent: bool) {
        let found = self.active.iter().position(|(active, _)| *active == index);
        let expected = found.and_then(|at| self.active.swap_remove(at).1);
        // A request that was not sent has cost nothing.
        let cost = cost.or(expected.filter(|_| was_sent));
        self.unpriced += u32::from(was_sent && cost.is_none());
        self.spent += cost.unwrap_or_default();
        self.highest = self.highest.into_iter().chain(cost).reduce(f64::max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within(limit: f64) -> Budget {
        Budget { limit, ..Budget::default() }
    }

    #[test]
    fn a_budget_counts_what_is_in_progress() {
        let three = Some(Expected { credits: 3.0, as_number: None });
        let mut known = within(10.0);
        for index in 0..3 {
            assert!(known.allows(three));
            known.submitted(index, three);
        }
        assert!(!known.allows(three), "9 of 10 are in progress");
        known.ended(0, None, false);
        assert!(known.allows(three), "nothing was sent");
        known.submitted(3, three);
        known.ended(1, Some(1.0), true);
        assert!(known.allows(three), "it cost less");
        known.submitted(4, three);
        known.ended(2, Some(4.0), true);
        assert!(!known.allows(three), "5 are spent, and 6 are in progress");

        let mut tenths = within(0.3);
        let tenth = Some(Expected { credits: 0.1, as_number: None });
        for index in 0..3 {
            assert!(tenths.allows(tenth), "{index}");
            tenths.submitted(index, tenth);
        }
        assert!(!tenths.allows(tenth));

        let mut unknown = within(10.0);
        assert!(unknown.allows(None));
        unknown.submitted(0, None);
        assert!(!unknown.allows(None), "one at a time");
        unknown.ended(0, Some(4.0), true);
        unknown.submitted(1, None);
        assert!(!unknown.allows(None), "4 are spent, and 4 are in progress");
        unknown.ended(1, None, true);
        assert!(!unknown.allows(None), "a lost response may have cost 4");

        let mut unpriced = within(10.0);
        unpriced.submitted(0, None);
        unpriced.ended(0, None, true);
        assert!(!unpriced.allows(None), "nobody knows what the first one has cost");
        let four = Some(Expected { credits: 4.0, as_number: None });
        assert!(unpriced.allows(four), "8 of 10");
        unpriced.submitted(1, four);
        assert!(!unpriced.allows(four), "12 of 10");
    }
}
