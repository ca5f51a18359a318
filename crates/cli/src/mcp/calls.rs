//! What the calls of the tools do.

use std::{pin::pin, sync::Arc, time::Duration};

use rmcp::{
    RoleServer,
    model::{CallToolResult, ProgressNotificationParam},
    service::RequestContext,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::{
    sync::watch,
    time::{Instant, interval, sleep},
};

use super::{
    Server, keys,
    requests::{self, Arguments},
    results,
    work::{Phase, entry_of, has_work},
};
use crate::{
    args::output::{FORMAT, with_ending},
    failure::Failure,
    history::{self, Entry, numbered, request::digest_of},
    making::plan,
    models,
    text::{sanitize::one_line, times::now},
};
use imagekiln::{FieldKind, Operation, journal::Key};

/// How often a client hears that a call goes on.
const BETWEEN_NOTES: Duration = Duration::from_secs(5);

/// The number of pictures that a search returns.
const FOUND: usize = 10;

pub async fn call(
    server: &Arc<Server>,
    tool: &str,
    arguments: Map<String, Value>,
    context: &RequestContext<RoleServer>,
) -> CallToolResult {
    let done = match tool {
        "make" | "edit" | "run" => make(server, tool, arguments, context).await,
        "models" => requests::read(arguments).and_then(describe_models),
        "look" => look(server, arguments, context).await,
        "pictures" => requests::read(arguments).and_then(|wanted| pictures(server, wanted)),
        "spending" => requests::read::<NoArguments>(arguments)
            .map(|NoArguments {}| results::plain(server.budget.spending(server.context.process()))),
        _ => Err(Failure::request(format!("there is no tool `{}`", one_line(tool)))),
    };
    done.unwrap_or_else(|failure| results::of_failure(server, &failure))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoArguments {}

async fn make(
    server: &Arc<Server>,
    tool: &str,
    arguments: Map<String, Value>,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResult, Failure> {
    let arguments: Arguments = requests::read(arguments)?;
    let attempt = arguments.attempt();
    let target = server.folders.target(arguments.file.as_deref())?;
    let (request, urls) = requests::request(server, tool, &arguments)?;
    let client = &server.session.client;
    let profile = &server.context.settings.profile.name;
    let folder = server.folders.first().to_string_lossy();
    let files = |path: &std::path::Path| json!(digest_of(path).ok());
    let scope = (client.base_url(), profile.as_str(), &*folder);
    let asked = keys::Call::new(scope, &request, (files, &urls))?;
    let when = (server.rules.same_for, now());
    asked.check_attempt(client, attempt, when).await?;
    let known = asked.known(client, attempt, when).await?;
    let earlier = match &known.record {
        Some(record) => entry_of(&server.context, record.intent().id())?,
        None => None,
    };
    let paid_now = earlier.is_none();
    let phases = match &earlier {
        Some(entry) if has_work(entry) => server.resume(entry),
        Some(entry) => return Ok(results::of_entry(server, entry, None, Some(false)).await),
        None => {
            let key = Key::new(&known.key);
            // The ending of the file does not make it another picture.
            let has_format = request.has_field(FORMAT);
            let request = if has_format { request } else { with_ending(request, &target) };
            let planned = plan::keyed(&server.context, request, target, key)?;
            planned.target.check(false, &server.context.process().stdout)?;
            server.make(&known.key, planned)
        }
    };
    result_of(server, phases, context, Some(paid_now)).await
}

/// Waits for work as long as a call may, and says where it is.
async fn result_of(
    server: &Arc<Server>,
    mut phases: watch::Receiver<Phase>,
    context: &RequestContext<RoleServer>,
    paid_now: Option<bool>,
) -> Result<CallToolResult, Failure> {
    let (number, problem) = match wait(server, &mut phases, context).await {
        Phase::Submitting => {
            return Ok(results::plain(json!({
                "state": "in_progress",
                "next": "The service has not accepted it yet. Repeat exactly the same call in a \
                         while: it is never paid twice.",
                "budget": server.left(),
            })));
        }
        Phase::Waiting(number) => (Some(number), None),
        Phase::Ended(number, problem) => (number, problem),
    };
    let entry = match number {
        Some(number) => numbered(server.context.process(), number)?,
        None => None,
    };
    Ok(match (entry, problem) {
        (Some(entry), problem) => {
            results::of_entry(server, &entry, problem.as_deref(), paid_now).await
        }
        (None, Some(problem)) => results::of_failure(server, &problem),
        (None, None) => return Err(Failure::usage("the submission is not in the history")),
    })
}

/// Waits for the end of work. Tells the client every few seconds that it goes on, until the client
/// cancels the call, or it has to return.
async fn wait(
    server: &Server,
    phases: &mut watch::Receiver<Phase>,
    context: &RequestContext<RoleServer>,
) -> Phase {
    let started = Instant::now();
    let mut end = pin!(sleep(server.rules.answer_within));
    let mut notes = interval(BETWEEN_NOTES);
    loop {
        let phase = phases.borrow_and_update().clone();
        if matches!(phase, Phase::Ended(..)) {
            return phase;
        }
        tokio::select! {
            changed = phases.changed() => if changed.is_err() {
                return phases.borrow().clone();
            },
            () = &mut end => return phase,
            () = context.ct.cancelled() => return phase,
            _ = notes.tick() => {
                let Some(token) = context.meta.get_progress_token() else { continue };
                let message = match phase {
                    Phase::Waiting(number) => format!("@{number} is in progress"),
                    _ => "submitting".to_owned(),
                };
                let progress = started.elapsed().as_secs_f64();
                let note = ProgressNotificationParam::new(token, progress).with_message(message);
                // The picture is made even if the client has left.
                let _ = context.peer.notify_progress(note).await;
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LookArguments {
    number: Option<Value>,
}

async fn look(
    server: &Arc<Server>,
    arguments: Map<String, Value>,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResult, Failure> {
    let LookArguments { number } = requests::read(arguments)?;
    let process = server.context.process();
    let Some(number) = number else {
        let entries = history::unfinished(process)?.flatten().filter(|entry| server.is_own(entry));
        let unfinished: Vec<Value> = entries.map(|entry| results::facts(&entry)).collect();
        let budget = server.left();
        return Ok(results::plain(json!({ "unfinished": unfinished, "budget": budget })));
    };
    let text = number.as_str().map_or_else(|| number.to_string(), str::to_owned);
    let number = text
        .trim()
        .trim_start_matches('@')
        .parse()
        .map_err(|_| Failure::request("number: give the number of a picture, such as @3"))?;
    let entry = numbered(process, number)?.filter(|entry| server.folders.have(entry));
    let Some(entry) = entry else {
        return Err(Failure::request(format!(
            "number: @{number} is not a picture in an allowed folder"
        )));
    };
    if entry.record.task().is_none() || !server.is_own(&entry) || !has_work(&entry) {
        return Ok(results::of_entry(server, &entry, None, None).await);
    }
    let phases = server.resume(&entry);
    result_of(server, phases, context, None).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchArguments {
    search: Option<String>,
    limit: Option<usize>,
}

fn pictures(server: &Server, wanted: SearchArguments) -> Result<CallToolResult, Failure> {
    let search = wanted.search.unwrap_or_default().to_lowercase();
    let has_words = |entry: &Entry| {
        let text = format!("{} {}", entry.prompt().unwrap_or_default(), entry.model());
        let text = text.to_lowercase();
        search.split_whitespace().all(|word| text.contains(word))
    };
    let entries = history::read(server.context.process())?.flatten();
    let found = entries.filter(|entry| has_words(entry) && server.folders.have(entry));
    let limit = wanted.limit.unwrap_or(FOUND).clamp(1, 50);
    let found: Vec<Value> = found.take(limit).map(|entry| results::facts(&entry)).collect();
    Ok(results::plain(json!({ "pictures": found })))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelArguments {
    model: Option<String>,
}

fn describe_models(which: ModelArguments) -> Result<CallToolResult, Failure> {
    let Some(name) = which.model else {
        let models = models::models().filter(|model| !model.deprecated);
        let models =
            models.map(|model| json!({ "name": model.name, "what": models::summary(model) }));
        return Ok(results::plain(json!({ "models": models.collect::<Vec<_>>() })));
    };
    let (model, _) = requests::named(&name)?;
    Ok(results::plain(described(model)))
}

/// A model, with the fields that a model may set.
fn described(model: &'static Operation) -> Value {
    let fields = model.fields.iter().filter_map(|field| {
        let kind = match &field.kind {
            FieldKind::Text => "text",
            FieldKind::Integer => "integer",
            FieldKind::Number => "number",
            FieldKind::Boolean => "boolean",
            FieldKind::Choice { .. } => "choice",
            FieldKind::Image { .. } => "image file",
            FieldKind::AspectRatio { .. } => "ratio such as 16:9",
            FieldKind::Address | FieldKind::Secret => return None,
            _ => "json",
        };
        let about = [field.limits_text, field.description];
        let about: Vec<&str> = about.into_iter().filter(|text| !text.is_empty()).collect();
        let required = if field.required { ", required" } else { "" };
        Some((field.name.to_owned(), format!("{kind}{required}; {}", about.join("; ")).into()))
    });
    let fields: Map<String, Value> = fields.collect();
    let needs: Vec<&str> = model.needs.iter().map(|need| need.why).collect();
    json!({
        "name": model.name,
        "what": model.description,
        "fields": fields,
        "needs": needs,
        "takes_other_fields": !model.all_fields_shown,
        "not_known": model.not_shown,
    })
}
