//! `kiln batch pause`, `unpause`, `budget`, `price`, `max-active`, `rate` and `limits`: what a run
//! may submit.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{
    place::model,
    print::{outage_events, outage_lines},
};
use crate::{
    context::Context,
    failure::Failure,
    text::{json, parse, sanitize::one_line, table::wrapped},
};
use imagekiln::text::{Credits, counted};
use imagekiln_batch::{Filter, Ledger, LimitStatus, Price, Scope};

const AT_ONCE: &str = "A run that is open notices the change within a second.";

/// A limit, or `none`.
type Limit<T> = Option<T>;

/// A change of a limit.
#[derive(Subcommand)]
pub enum Change {
    /// Stop submitting; what is submitted continues
    #[command(
        after_help = "A run that is open submits nothing more, and stays open until `unpause`."
    )]
    Pause(ScopeOptions),
    /// Submit again after `pause`
    #[command(alias = "resume", after_help = AT_ONCE)]
    Unpause(ScopeOptions),
    /// Limit what submissions may cost
    #[command(after_help = AT_ONCE)]
    Budget {
        /// The maximum cost of all submissions, including earlier ones
        #[arg(value_name = "CREDITS|none")]
        #[arg(value_parser = |text: &str| or_none(text, parse::credits))]
        credits: Limit<f64>,
        #[command(flatten)]
        options: EachScope,
    },
    /// Set what a submission to a model costs, for budgets
    #[command(after_help = "The highest known cost of a model replaces its price, unless the \
                            price is for each megapixel.")]
    Price {
        #[arg(hide_possible_values = true, value_parser = model())]
        model: String,
        /// The price of a submission: credits, such as 4, credits for each megapixel, such as
        /// 0.5/MP, or both, such as 1+0.5/MP
        #[arg(value_name = "PRICE|none")]
        #[arg(value_parser = |text: &str| or_none(text, parse::price))]
        price: Limit<Price>,
    },
    /// Limit the number of active tasks
    #[command(alias = "cap", after_help = AT_ONCE)]
    MaxActive {
        /// The maximum number of tasks between submission and saved picture
        #[arg(value_name = "N|none", value_parser = |text: &str| or_none(text, number))]
        tasks: Limit<u64>,
        #[command(flatten)]
        options: EachScope,
    },
    /// Limit the number of submissions per minute
    #[command(after_help = AT_ONCE)]
    Rate {
        /// The maximum number of submissions in any minute, 1 to 6000
        #[arg(value_name = "N|none", value_parser = |text: &str| or_none(text, rate))]
        per_minute: Limit<u64>,
        #[command(flatten)]
        options: ScopeOptions,
    },
}

/// What a limit is for. Without an option, the whole ledger.
#[derive(Args)]
pub struct ScopeOptions {
    /// Only the submissions of this model
    #[arg(long, hide_possible_values = true, value_parser = model(), conflicts_with = "group")]
    model: Option<String>,
    /// Only the submissions of this group
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
}

#[derive(Args)]
pub struct EachScope {
    #[command(flatten)]
    one: ScopeOptions,
    /// For each group that has no limit of its own
    #[arg(long, conflicts_with_all = ["model", "group"])]
    each_group: bool,
}

impl ScopeOptions {
    /// The scope, and its name for people.
    fn scope(self) -> (Scope, String) {
        let model = self.model.map(Scope::Operation);
        named(model.or_else(|| self.group.map(Scope::Group)).unwrap_or(Scope::Ledger))
    }
}

impl EachScope {
    fn scope(self) -> (Scope, String) {
        if self.each_group { named(Scope::EachGroup) } else { self.one.scope() }
    }
}

fn named(scope: Scope) -> (Scope, String) {
    let name = shown(&scope);
    (scope, name)
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

fn rate(text: &str) -> Result<u64, String> {
    let rate = text.parse().ok().filter(|rate| (1..=6000).contains(rate));
    rate.ok_or_else(|| "give 1 to 6000 submissions per minute, or `none`".to_owned())
}

pub async fn change(context: &Context, ledger: &Ledger, change: Change) -> Result<(), Failure> {
    let (scope, done) = match change {
        Change::Price { model, price } => {
            return set_price(context, ledger, &model, price).await;
        }
        Change::Pause(options) => {
            let (scope, what) = options.scope();
            ledger.limits().pause(scope.clone()).await?;
            (scope, format!("{what} is paused"))
        }
        Change::Unpause(options) => {
            let (scope, what) = options.scope();
            ledger.limits().unpause(scope.clone()).await?;
            for limit in ledger.limits().list().await?.iter().filter(|limit| limit.is_paused) {
                context.output.note(&format!("still paused: {}", shown(&limit.scope)));
            }
            (scope, format!("{what} is not paused"))
        }
        Change::Budget { credits, options } => {
            let (scope, what) = options.scope();
            ledger.limits().set_budget(scope.clone(), credits).await?;
            let done = match credits {
                Some(credits) => {
                    format!("the budget of {what} is {:.2} credits", Credits(credits))
                }
                None => format!("{what} has no budget"),
            };
            (scope, done)
        }
        Change::MaxActive { tasks, options } => {
            let (scope, what) = options.scope();
            ledger.limits().set_max_active(scope.clone(), tasks).await?;
            let done = match tasks {
                Some(tasks) => format!("{what} may have {}", active_tasks(tasks)),
                None => format!("{what} has no limit on active tasks"),
            };
            (scope, done)
        }
        Change::Rate { per_minute, options } => {
            let (scope, what) = options.scope();
            ledger.limits().set_rate(scope.clone(), per_minute).await?;
            let done = match per_minute {
                Some(rate) => format!("{what} may have {}", a_minute(rate)),
                None => format!("{what} has no rate"),
            };
            (scope, done)
        }
    };
    // A limit of a group that does not exist limits nothing.
    if let Scope::Group(name) = &scope
        && ledger.jobs().list(&Filter::all().group(name), 0, 1).await?.is_empty()
    {
        context.output.note(&format!("the ledger has no jobs of {}", shown(&scope)));
    }
    let limits = ledger.limits().list().await?;
    let limit = limits.iter().find(|limit| limit.scope == scope);
    let event = || json::with(for_programs(&scope, limit), [("event", "limit".into())]);
    context.output.result(|| done, event)
}

async fn set_price(
    context: &Context,
    ledger: &Ledger,
    model: &str,
    price: Limit<Price>,
) -> Result<(), Failure> {
    ledger.limits().set_price(model, price).await?;
    let done = || match price {
        Some(price) => format!("the price of {model} is {price}"),
        None => format!("{model} has no price"),
    };
    let event = || {
        json!({
            "event": "price",
            "model": model,
            "credits": price.map(|price| price.credits),
            "per_megapixel": price.map(|price| price.per_megapixel),
        })
    };
    context.output.result(done, event)
}

pub async fn list(context: &Context, ledger: &Ledger) -> Result<(), Failure> {
    let (limits, outages) = (ledger.limits().list().await?, ledger.limits().outages().await?);
    let people = || {
        let mut lines: Vec<_> = limits.iter().map(for_people).collect();
        if lines.is_empty() {
            lines.push("the ledger has no limits".to_owned());
        }
        lines.extend(outage_lines(&outages));
        wrapped(&lines.join("\n"), (context.process().stdout.columns)())
    };
    let programs = || {
        let limit = |limit: &LimitStatus| for_programs(&limit.scope, Some(limit));
        let limits: Vec<_> = limits.iter().map(limit).collect();
        json!({ "event": "limits", "limits": limits, "outages": outage_events(&outages) })
    };
    context.output.result(people, programs)
}

/// For example `the ledger: 12.00 of 50.00 credits; 3 of 8 active tasks`.
fn for_people(limit: &LimitStatus) -> String {
    let mut parts = Vec::new();
    if limit.is_paused {
        parts.push("paused".to_owned());
    }
    let (credits, active) = (Credits(limit.credits), limit.active);
    let budget = limit.budget.map(Credits);
    if limit.scope == Scope::EachGroup {
        parts.extend(budget.map(|budget| format!("at most {budget:.2} credits")));
        parts.extend(limit.max_active.map(|most| format!("at most {}", active_tasks(most))));
    } else {
        let unknown = match limit.without_cost {
            0 => String::new(),
            count => format!(" ({count} of unknown cost)"),
        };
        parts.push(match budget {
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
