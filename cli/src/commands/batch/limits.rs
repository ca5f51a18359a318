//! `kiln batch pause`, `resume`, `budget`, `cap`, `rate` and `limits`: what a run may submit.

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::{Value, json};

use super::{place, select};
use crate::{
    context::Context,
    failure::Failure,
    text::{json, parse::credits, sanitize::one_line, table::wrapped},
};
use imagekiln::text::counted;
use imagekiln_batch::{Filter, Ledger, LimitStatus, Scope};

pub const NAMES: [&str; 6] = [PAUSE, RESUME, BUDGET, CAP, RATE, LIMITS];

const PAUSE: &str = "pause";
const RESUME: &str = "resume";
const BUDGET: &str = "budget";
const CAP: &str = "cap";
const RATE: &str = "rate";
const LIMITS: &str = "limits";

const AT_ONCE: &str = "A run that is open notices the change within a second.";
const STAYS_OPEN: &str = "A run that is open submits nothing more, and stays open until `resume`.";

pub fn commands() -> [Command; 6] {
    let command =
        |name, about| Command::new(name).about(about).arg(place::arg("the working directory"));
    let scoped = |name, about, what| {
        let [model, group] = select::model_and_group(what);
        command(name, about).arg(model.conflicts_with("group")).arg(group).after_help(AT_ONCE)
    };
    let each_group = Arg::new("each-group")
        .long("each-group")
        .action(ArgAction::SetTrue)
        .conflicts_with_all(["model", "group"])
        .help("For each group that has no limit of its own");
    let limit = |id: &'static str| Arg::new(id).required(true);
    [
        scoped(PAUSE, "Stop submitting; what is submitted continues", "Only the submissions")
            .after_help(STAYS_OPEN),
        scoped(RESUME, "Submit again after `pause`", "Only the submissions"),
        scoped(BUDGET, "Limit what submissions may cost", "The submissions")
            .arg(
                limit("credits")
                    .value_name("CREDITS|none")
                    .value_parser(|text: &str| or_none(text, credits))
                    .help("The maximum cost of all submissions, including earlier ones"),
            )
            .arg(each_group.clone()),
        scoped(CAP, "Limit the number of active tasks", "The tasks")
            .arg(
                limit("tasks")
                    .value_name("N|none")
                    .value_parser(|text: &str| or_none(text, number))
                    .help("The maximum number of tasks between submission and saved picture"),
            )
            .arg(each_group),
        scoped(RATE, "Limit the number of submissions per minute", "The submissions").arg(
            limit("per-minute")
                .value_name("N|none")
                .value_parser(|text: &str| or_none(text, per_minute))
                .help("The maximum number of submissions in any minute, 1 to 6000"),
        ),
        command(LIMITS, "List the limits of a ledger, and what counts for them"),
    ]
}

fn or_none<T>(
    text: &str,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Result<Option<T>, String> {
    if text == "none" { Ok(None) } else { parse(text).map(Some) }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "give a number of tasks, or `none`".to_owned())
}

fn per_minute(text: &str) -> Result<u64, String> {
    let rate = text.parse().ok().filter(|rate| (1..=6000).contains(rate));
    rate.ok_or_else(|| "give 1 to 6000 submissions per minute, or `none`".to_owned())
}

pub async fn execute(context: &Context, name: &str, matches: &ArgMatches) -> Result<(), Failure> {
    if name == LIMITS {
        return list(context, matches).await;
    }
    let (_, ledger) = place::open(context.process(), matches).await?;
    let scope = scope(matches);
    let what = one_line(&scope.to_string());
    let done = match name {
        PAUSE => {
            ledger.pause(scope.clone()).await?;
            format!("{what} is paused")
        }
        RESUME => {
            ledger.resume(scope.clone()).await?;
            format!("{what} is not paused")
        }
        BUDGET => {
            let credits = matches.get_one::<Option<f64>>("credits").copied().flatten();
            ledger.set_budget(scope.clone(), credits).await?;
            match credits {
                Some(credits) => format!("the budget of {what} is {credits:.2} credits"),
                None => format!("{what} has no budget"),
            }
        }
        RATE => {
            let rate = matches.get_one::<Option<u64>>("per-minute").copied().flatten();
            ledger.set_rate(scope.clone(), rate).await?;
            match rate {
                Some(rate) => format!("{what} may have {}", a_minute(rate)),
                None => format!("{what} has no rate"),
            }
        }
        _ => {
            let tasks = matches.get_one::<Option<u64>>("tasks").copied().flatten();
            ledger.set_max_active(scope.clone(), tasks).await?;
            match tasks {
                Some(tasks) => format!("{what} may have {}", active_tasks(tasks)),
                None => format!("{what} has no cap"),
            }
        }
    };
    note_typing_errors(context, &ledger, &scope).await?;
    let limits = ledger.limits().await?;
    if name == RESUME {
        for limit in limits.iter().filter(|limit| limit.is_paused) {
            context.output.note(&format!("still paused: {}", one_line(&limit.scope.to_string())));
        }
    }
    let limit = limits.iter().find(|limit| limit.scope == scope);
    let event = || json::with(for_programs(&scope, limit), [("event", "limit".into())]);
    context.output.result(|| done, event)
}

/// The scope that the options name.
fn scope(matches: &ArgMatches) -> Scope {
    let is_each = matches.try_get_one::<bool>("each-group").ok().flatten() == Some(&true);
    match (select::model(matches), select::group(matches)) {
        (Some(model), _) => Scope::Operation(model.to_owned()),
        (_, Some(group)) => Scope::Group(group.to_owned()),
        _ if is_each => Scope::EachGroup,
        _ => Scope::Ledger,
    }
}

/// A limit of a group that does not exist limits nothing.
async fn note_typing_errors(
    context: &Context,
    ledger: &Ledger,
    scope: &Scope,
) -> Result<(), Failure> {
    let Scope::Group(name) = scope else { return Ok(()) };
    if ledger.list(&Filter::all().group(name), 0, 1).await?.is_empty() {
        context.output.note(&format!("the ledger has no jobs of {}", one_line(&scope.to_string())));
    }
    Ok(())
}

async fn list(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let (_, ledger) = place::open_to_read(context.process(), matches).await?;
    let limits = ledger.limits().await?;
    let people = || {
        if limits.is_empty() {
            return "the ledger has no limits".to_owned();
        }
        let lines = limits.iter().map(for_people).collect::<Vec<_>>().join("\n");
        wrapped(&lines, (context.process().stdout.columns)())
    };
    let programs = || {
        let limit = |limit: &LimitStatus| for_programs(&limit.scope, Some(limit));
        json!({ "event": "limits", "limits": limits.iter().map(limit).collect::<Vec<_>>() })
    };
    context.output.result(people, programs)
}

/// For example `the ledger: 12.00 of 50.00 credits; 3 of 8 active tasks`.
fn for_people(limit: &LimitStatus) -> String {
    let mut parts = Vec::new();
    if limit.is_paused {
        parts.push("paused".to_owned());
    }
    let (credits, active) = (limit.credits, limit.active);
    if limit.scope == Scope::EachGroup {
        parts.extend(limit.budget.map(|budget| format!("at most {budget:.2} credits")));
        parts.extend(limit.max_active.map(|most| format!("at most {}", active_tasks(most))));
    } else {
        let unknown = match limit.without_cost {
            0 => String::new(),
            count => format!(" ({count} of unknown cost)"),
        };
        parts.push(match limit.budget {
            Some(budget) => format!("{credits:.2} of {budget:.2} credits{unknown}"),
            None => format!("{credits:.2} credits{unknown}"),
        });
        parts.push(match limit.max_active {
            Some(most) => format!("{active} of {}", active_tasks(most)),
            None => active_tasks(active),
        });
    }
    parts.extend(limit.rate.map(|rate| format!("at most {}", a_minute(rate))));
    format!("{}: {}", one_line(&limit.scope.to_string()), parts.join("; "))
}

fn a_minute(rate: u64) -> String {
    format!("{} a minute", counted(rate, "submission"))
}

fn active_tasks(count: u64) -> String {
    counted(count, "active task")
}

fn for_programs(scope: &Scope, limit: Option<&LimitStatus>) -> Value {
    let (kind, name) = match scope {
        Scope::Operation(name) => ("model", Some(name)),
        Scope::Group(name) => ("group", Some(name)),
        Scope::EachGroup => ("each_group", None),
        _ => ("ledger", None),
    };
    json!({
        "scope": kind,
        "name": name,
        "paused": limit.is_some_and(|limit| limit.is_paused),
        "budget": limit.and_then(|limit| limit.budget),
        "max_active": limit.and_then(|limit| limit.max_active),
        "rate": limit.and_then(|limit| limit.rate),
        "credits": limit.map(|limit| limit.credits),
        "without_cost": limit.map(|limit| limit.without_cost),
        "active": limit.map(|limit| limit.active),
    })
}
