//! `kiln batch limits`: what a run may submit.

use clap::{ArgGroup, Args};
use serde_json::{Value, json};

use super::{
    place::model,
    print::{outage_events, outage_lines},
};
use crate::{
    args::completers,
    context::Context,
    failure::Failure,
    models,
    text::{one_line, parse, wrapped},
};
use imagekiln::text::{Credits, counted};
use imagekiln_batch::{Filter, Ledger, LimitStatus, Price, Scope};

/// A limit, or `none`.
type Limit<T> = Option<T>;

/// Show the limits of a ledger and what counts for them, or change them
#[derive(Args)]
#[command(
    group(ArgGroup::new("change").multiple(true)),
    next_help_heading = "Changes",
    after_help = "A run that is open notices a change within a second. `none` removes a limit.",
    after_long_help = "A run that is open notices a change within a second. `none` removes a \
                       limit. A paused run stays open, and what is submitted continues. The \
                       highest known cost of a model replaces its price, unless the price is for \
                       each megapixel."
)]
pub struct Options {
    /// Stop submitting
    #[arg(long, group = "change", conflicts_with_all = ["unpause", "each_group"])]
    pause: bool,
    /// Submit again
    #[arg(long, group = "change", conflicts_with = "each_group")]
    unpause: bool,
    /// The maximum cost, with that of earlier submissions
    #[arg(long, value_name = "CREDITS", group = "change")]
    #[arg(value_parser = |text: &str| or_none(text, parse::credits))]
    budget: Option<Limit<f64>>,
    /// The maximum number of active tasks: those between submission and saved picture
    #[arg(long, value_name = "N", group = "change")]
    #[arg(value_parser = |text: &str| or_none(text, number))]
    max_active: Option<Limit<u64>>,
    /// The maximum number of submissions in any minute, 1 to 6000
    #[arg(long, value_name = "N", group = "change", conflicts_with = "each_group")]
    #[arg(value_parser = |text: &str| or_none(text, rate))]
    rate: Option<Limit<u64>>,
    /// What a submission to a model costs, for budgets: credits, such as gen-2-pro=4, credits for
    /// each megapixel, such as gen-2-pro=0.5/MP, or both, such as gen-2-pro=1+0.5/MP
    #[arg(long, value_name = "MODEL=PRICE", value_parser = model_price)]
    #[arg(add = completers::model_prices())]
    price: Vec<ModelPrice>,
    #[command(flatten)]
    of: ScopeOptions,
}

/// What the changes are for, besides prices. Without an option, the whole ledger.
#[derive(Args)]
#[command(next_help_heading = "For")]
#[group(multiple = false, requires = "change")]
struct ScopeOptions {
    /// Only the submissions of this model
    #[arg(long, hide_possible_values = true, value_parser = model())]
    model: Option<String>,
    /// Only the submissions of this group
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    /// Each group that has no limit of its own
    #[arg(long)]
    each_group: bool,
}

impl ScopeOptions {
    fn scope(self) -> Scope {
        match self {
            Self { each_group: true, .. } => Scope::EachGroup,
            Self { model: Some(model), .. } => Scope::Operation(model),
            Self { group: Some(group), .. } => Scope::Group(group),
            _ => Scope::Ledger,
        }
    }
}

/// A model and its price.
#[derive(Clone)]
struct ModelPrice(String, Limit<Price>);

fn model_price(text: &str) -> Result<ModelPrice, String> {
    let (name, price) = text.split_once('=').ok_or("use MODEL=PRICE, such as gen-2-pro=4")?;
    let model = models::find(name).ok_or_else(|| models::unknown(name).0)?;
    Ok(ModelPrice(model.name.to_owned(), or_none(price, parse::price)?))
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

/// Changes the limits, and prints all of them.
pub async fn execute(context: &Context, ledger: &Ledger, options: Options) -> Result<(), Failure> {
    let Options { pause, unpause, budget, max_active, rate, price, of } = options;
    let scope = of.scope();
    if pause {
        ledger.limits().pause(scope.clone()).await?;
    }
    if let Some(credits) = budget {
        ledger.limits().set_budget(scope.clone(), credits).await?;
    }
    if let Some(tasks) = max_active {
        ledger.limits().set_max_active(scope.clone(), tasks).await?;
    }
    if let Some(per_minute) = rate {
        ledger.limits().set_rate(scope.clone(), per_minute).await?;
    }
    for ModelPrice(model, price) in price {
        ledger.limits().set_price(&model, price).await?;
    }
    if unpause {
        ledger.limits().unpause(scope.clone()).await?;
    }
    // The user may have misspelled the name of the group: without jobs, its limit has no effect.
    if let Scope::Group(name) = &scope {
        let of_group = Filter { group: Some(name.clone()), ..Filter::default() };
        if ledger.jobs().page(&of_group, 0, 1).await?.is_empty() {
            context.output.note(&format!("the ledger has no jobs of {}", shown(&scope)));
        }
    }
    list(context, ledger).await
}

async fn list(context: &Context, ledger: &Ledger) -> Result<(), Failure> {
    let (prices, outages) = (ledger.limits().prices().await?, ledger.limits().outages().await?);
    let limits = ledger.limits().list().await?;
    let people = || {
        let mut lines: Vec<_> = limits.iter().map(for_people).collect();
        if lines.is_empty() {
            lines.push("the ledger has no limits".to_owned());
        }
        lines.extend(prices.each_set().map(|(model, price)| format!("price of {model}: {price}")));
        lines.extend(outage_lines(&outages));
        wrapped(&lines.join("\n"), (context.process().stdout.columns)())
    };
    let programs = || {
        let price = |(model, price): (&str, Price)| {
            let Price { credits, per_megapixel, .. } = price;
            json!({ "model": model, "credits": credits, "per_megapixel": per_megapixel })
        };
        json!({
            "event": "limits",
            "limits": limits.iter().map(for_programs).collect::<Vec<_>>(),
            "prices": prices.each_set().map(price).collect::<Vec<_>>(),
            "outages": outage_events(&outages),
        })
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
    parts
        .extend(limit.rate.map(|rate| format!("at most {} a minute", counted(rate, "submission"))));
    format!("{}: {}", shown(&limit.scope), parts.join("; "))
}

fn shown(scope: &Scope) -> String {
    one_line(&scope.to_string())
}

fn active_tasks(count: u64) -> String {
    counted(count, "active task")
}

fn for_programs(limit: &LimitStatus) -> Value {
    let (kind, name) = match &limit.scope {
        Scope::Operation(name) => ("model", Some(name)),
        Scope::Group(name) => ("group", Some(name)),
        Scope::EachGroup => ("each_group", None),
        _ => ("ledger", None),
    };
    json!({
        "scope": kind,
        "name": name,
        "paused": limit.is_paused,
        "budget": limit.budget,
        "max_active": limit.max_active,
        "rate": limit.rate,
        "credits": limit.credits,
        "without_cost": limit.without_cost,
        "active": limit.active,
    })
}
