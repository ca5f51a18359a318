//! `kiln batch pause`, `resume`, `budget`, `cap`, `rate` and `limits`: what a run may submit.

use clap::Args;
use serde_json::{Value, json};

use super::{
    place::{Access, LedgerOption},
    select,
};
use crate::{
    context::Context,
    failure::Failure,
    text::{json, parse, sanitize::one_line, table::wrapped},
};
use imagekiln::text::counted;
use imagekiln_batch::{Filter, Ledger, LimitStatus, Scope};

pub const AT_ONCE: &str = "A run that is open notices the change within a second.";
pub const STAYS_OPEN: &str =
    "A run that is open submits nothing more, and stays open until `resume`.";

/// A limit, or `none`.
type Limit<T> = Option<T>;

/// What a limit is for. Without an option, the whole ledger.
#[derive(Args)]
pub struct ScopeOptions {
    /// Only the submissions of this model
    #[arg(long, hide_possible_values = true, value_parser = select::model())]
    #[arg(conflicts_with = "group")]
    model: Option<String>,
    /// Only the submissions of this group
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    #[command(flatten)]
    ledger: LedgerOption,
}

/// Limit what submissions may cost
#[derive(Args)]
#[command(after_help = AT_ONCE)]
pub struct Budget {
    /// The maximum cost of all submissions, including earlier ones
    #[arg(value_name = "CREDITS|none", value_parser = |text: &str| or_none(text, parse::credits))]
    credits: Limit<f64>,
    #[command(flatten)]
    scope: ScopeOptions,
    /// For each group that has no limit of its own
    #[arg(long, conflicts_with_all = ["model", "group"])]
    each_group: bool,
}

/// Limit the number of active tasks
#[derive(Args)]
#[command(after_help = AT_ONCE)]
pub struct Cap {
    /// The maximum number of tasks between submission and saved picture
    #[arg(value_name = "N|none", value_parser = |text: &str| or_none(text, number))]
    tasks: Limit<u64>,
    #[command(flatten)]
    scope: ScopeOptions,
    /// For each group that has no limit of its own
    #[arg(long, conflicts_with_all = ["model", "group"])]
    each_group: bool,
}

/// Limit the number of submissions per minute
#[derive(Args)]
#[command(after_help = AT_ONCE)]
pub struct Rate {
    /// The maximum number of submissions in any minute, 1 to 6000
    #[arg(value_name = "N|none", value_parser = |text: &str| or_none(text, rate_of))]
    per_minute: Limit<u64>,
    #[command(flatten)]
    scope: ScopeOptions,
}

/// List the limits of a ledger, and what counts for them
#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    ledger: LedgerOption,
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

fn rate_of(text: &str) -> Result<u64, String> {
    let rate = text.parse().ok().filter(|rate| (1..=6000).contains(rate));
    rate.ok_or_else(|| "give 1 to 6000 submissions per minute, or `none`".to_owned())
}

/// A ledger, and the scope whose limit changes.
struct Change {
    ledger: Ledger,
    scope: Scope,
}

impl Change {
    async fn of(context: &Context, options: ScopeOptions, each: bool) -> Result<Self, Failure> {
        let ledger = options.ledger.open(context, Access::Manage).await?;
        let scope = match (options.model, options.group) {
            (Some(model), _) => Scope::Operation(model),
            (_, Some(group)) => Scope::Group(group),
            _ if each => Scope::EachGroup,
            _ => Scope::Ledger,
        };
        Ok(Self { ledger, scope })
    }

    /// Prints what `done` says about the scope.
    async fn print(
        self,
        context: &Context,
        done: impl FnOnce(&str) -> String,
    ) -> Result<(), Failure> {
        let what = shown(&self.scope);
        // A limit of a group that does not exist limits nothing.
        if let Scope::Group(name) = &self.scope
            && self.ledger.list(&Filter::all().group(name), 0, 1).await?.is_empty()
        {
            context.output.note(&format!("the ledger has no jobs of {what}"));
        }
        let limits = self.ledger.limits().await?;
        let limit = limits.iter().find(|limit| limit.scope == self.scope);
        let event = || json::with(for_programs(&self.scope, limit), [("event", "limit".into())]);
        context.output.result(|| done(&what), event)
    }
}

pub async fn pause(context: &Context, options: ScopeOptions) -> Result<(), Failure> {
    let change = Change::of(context, options, false).await?;
    change.ledger.pause(change.scope.clone()).await?;
    change.print(context, |what| format!("{what} is paused")).await
}

pub async fn resume(context: &Context, options: ScopeOptions) -> Result<(), Failure> {
    let change = Change::of(context, options, false).await?;
    change.ledger.resume(change.scope.clone()).await?;
    for limit in change.ledger.limits().await?.iter().filter(|limit| limit.is_paused) {
        context.output.note(&format!("still paused: {}", shown(&limit.scope)));
    }
    change.print(context, |what| format!("{what} is not paused")).await
}

pub async fn budget(context: &Context, options: Budget) -> Result<(), Failure> {
    let change = Change::of(context, options.scope, options.each_group).await?;
    change.ledger.set_budget(change.scope.clone(), options.credits).await?;
    let done = |what: &str| match options.credits {
        Some(credits) => format!("the budget of {what} is {credits:.2} credits"),
        None => format!("{what} has no budget"),
    };
    change.print(context, done).await
}

pub async fn cap(context: &Context, options: Cap) -> Result<(), Failure> {
    let change = Change::of(context, options.scope, options.each_group).await?;
    change.ledger.set_max_active(change.scope.clone(), options.tasks).await?;
    let done = |what: &str| match options.tasks {
        Some(tasks) => format!("{what} may have {}", active_tasks(tasks)),
        None => format!("{what} has no cap"),
    };
    change.print(context, done).await
}

pub async fn rate(context: &Context, options: Rate) -> Result<(), Failure> {
    let change = Change::of(context, options.scope, false).await?;
    change.ledger.set_rate(change.scope.clone(), options.per_minute).await?;
    let done = |what: &str| match options.per_minute {
        Some(rate) => format!("{what} may have {}", a_minute(rate)),
        None => format!("{what} has no rate"),
    };
    change.print(context, done).await
}

pub async fn list(context: &Context, options: Options) -> Result<(), Failure> {
    let limits = options.ledger.open(context, Access::Read).await?.limits().await?;
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
    format!("{}: {}", shown(&limit.scope), parts.join("; "))
}

fn shown(scope: &Scope) -> String {
    one_line(&scope.to_string())
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
