//! Carries out the calls of the tools.

use std::{pin::pin, slice, sync::Arc, time::Duration};

use rmcp::{
    RoleServer,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, CreateTaskResult, DetailedTask,
        InputResponses, ProgressNotificationParam, Task, TaskPayload, TaskStatus,
    },
    service::RequestContext,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::{
    sync::watch,
    time::{Instant, interval, sleep},
};

use super::{
    Server,
    asking::{self, Answer},
    keys,
    requests::{self, Arguments},
    results,
    work::{Phase, entry_of, has_work},
};
use crate::{
    args::output::{FORMAT, with_ending},
    failure::Failure,
    files::target::Target,
    history::{self, Entry, numbered},
    making::{
        costs,
        plan::{self, Planned},
    },
    models::{self, PROMPT},
    text::{now, one_line, rfc3339},
};
use imagekiln::{FieldKind, Operation, Request, digest_of_file, journal::Key};

/// How often a client is told that a call is still in progress.
const BETWEEN_NOTES: Duration = Duration::from_secs(5);

/// How often a client should poll a task.
const BETWEEN_POLLS: Duration = Duration::from_secs(2);

/// The number of pictures that a search returns, unless the call sets a limit.
const FOUND: usize = 10;

pub async fn call(
    server: &Arc<Server>,
    params: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> CallToolResponse {
    let CallToolRequestParams { name: tool, arguments, input_responses: answers, .. } = params;
    let arguments = arguments.unwrap_or_default();
    let done = match &*tool {
        "make" | "edit" | "run" => make(server, (&tool, arguments), answers, context).await,
        "models" => requests::read(arguments).and_then(describe_models).map(Into::into),
        "look" => look(server, arguments, context).await,
        "pictures" => {
            requests::read(arguments).and_then(|wanted| pictures(server, wanted)).map(Into::into)
        }
        "spending" => requests::read::<NoArguments>(arguments).map(|NoArguments {}| {
            results::plain(server.budget.spending(server.context.process())).into()
        }),
        _ => Err(Failure::request(format!("there is no tool `{}`", one_line(&tool)))),
    };
    done.unwrap_or_else(|failure| results::of_failure(server, &failure).into())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoArguments {}

async fn make(
    server: &Arc<Server>,
    (tool, arguments): (&str, Map<String, Value>),
    answers: Option<InputResponses>,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, Failure> {
    let arguments: Arguments = requests::read(arguments)?;
    let attempt = arguments.attempt.unwrap_or(1).max(1);
    let target = server.folders.target(arguments.file.as_deref())?;
    let (request, urls) = requests::request(server, tool, &arguments)?;
    let client = &server.session.client;
    let profile = &server.context.settings.profile.name;
    let folder = server.folders.first().to_string_lossy();
    let files = |path: &std::path::Path| json!(digest_of_file(path).ok());
    let scope = (client.base_url(), profile.as_str(), &*folder);
    let asked = keys::Call::new(scope, &request, (files, &urls))?;
    let when = (server.rules.same_for, now());
    asked.check_attempt(client, attempt, when).await?;
    let known = async || {
        let known = asked.known(client, attempt, when).await?;
        let entry = match &known.record {
            Some(record) => entry_of(&server.context, record.intent().id())?,
            None => None,
        };
        Ok::<_, Failure>((known.key, entry))
    };
    let (key, earlier) = known().await?;
    let entry = match earlier {
        Some(entry) => entry,
        None => match planned(server, (request, target), &key, answers, context).await {
            Ok(Ok((planned, allowed))) => {
                let phases = server.make(&key, planned, allowed);
                return result_of(server, phases, context, Some(true)).await;
            }
            Ok(Err(asking)) => return Ok(asking),
            // Another server may have submitted the same call since: then the budget and the file
            // are used up by the picture that this call asks for.
            Err(refused) => known().await?.1.ok_or(refused)?,
        },
    };
    if has_work(&entry) {
        return result_of(server, server.resume(&entry), context, Some(false)).await;
    }
    Ok(results::of_entry(server, &entry, None, Some(false)).await.into())
}

/// Plans a picture that no call has asked for before, and checks its target and the budget. If the
/// picture costs more than is left, asks the person. Returns the number of credits that the person
/// allows for the picture, or the result with which the client asks the person.
async fn planned(
    server: &Server,
    (request, target): (Request, Target),
    key: &str,
    answers: Option<InputResponses>,
    context: &RequestContext<RoleServer>,
) -> Result<Result<(Planned, Option<f64>), CallToolResponse>, Failure> {
    // The extension of the file sets the format, after the key was computed: it does not make this
    // another picture.
    let has_format = request.has_field(FORMAT);
    let request = if has_format { request } else { with_ending(request, &target) };
    let planned = plan::keyed(&server.context, request, target, Key::new(key))?;
    planned.target.check(false, &server.context.process().stdout)?;
    let (budget, process) = (&server.budget, server.context.process());
    let expected = costs::expected(&server.context, slice::from_ref(&planned)).pop().flatten();
    let Err(mut refused) = budget.check(process, expected) else {
        return Ok(Ok((planned, None)));
    };
    let request = &planned.request;
    let question = format!(
        "{}. Make it all the same, with {}? {}",
        refused.message,
        request.model_name(),
        request.outline().get(PROMPT).and_then(Value::as_str).map(one_line).unwrap_or_default(),
    );
    // The call still has to return in time.
    let longest = server.rules.answer_within.mul_f64(0.8);
    match asking::ask(question, longest, answers, context).await {
        Answer::Agreed => Ok(Ok((planned, Some(budget.cost(expected))))),
        Answer::Asking(result) => Ok(Err(result.into())),
        Answer::Refused(why) => {
            refused.message += why;
            Err(refused)
        }
    }
}

/// Waits for the work on a picture as long as a call may take, and returns how far the work is. A
/// client that polls tasks gets a task as soon as the service has accepted the picture.
async fn result_of(
    server: &Arc<Server>,
    mut phases: watch::Receiver<Phase>,
    context: &RequestContext<RoleServer>,
    paid_now: Option<bool>,
) -> Result<CallToolResponse, Failure> {
    let is_task = paid_now.is_some() && polls_tasks(context);
    let phase = wait(server, &mut phases, is_task, context).await;
    let is_waiting = matches!(phase, Phase::Waiting(_));
    let (number, problem) = match phase {
        Phase::Submitting => {
            return Ok(results::plain(json!({
                "state": "in_progress",
                "next": "The service has not accepted it yet. Repeat exactly the same call in a \
                         while: it is never paid twice.",
                "budget": server.left(),
            }))
            .into());
        }
        Phase::Waiting(number) => (Some(number), None),
        Phase::Ended(number, problem) => (number, problem),
    };
    let entry = match number {
        Some(number) => numbered(server.context.process(), number)?,
        None => None,
    };
    let result = match (entry, problem) {
        (Some(entry), _) if is_task && is_waiting => {
            return Ok(CreateTaskResult::new(working(&entry)).into());
        }
        (Some(entry), problem) => {
            results::of_entry(server, &entry, problem.as_deref(), paid_now).await
        }
        (None, Some(problem)) => results::of_failure(server, &problem),
        (None, None) => return Err(Failure::usage("the submission is not in the history")),
    };
    Ok(result.into())
}

/// Waits until the work ends or, for a task, until the service has accepted the picture. Tells the
/// client every few seconds that the work continues. Returns earlier if the client cancels the
/// call, or if the call has taken as long as it may.
async fn wait(
    server: &Server,
    phases: &mut watch::Receiver<Phase>,
    is_task: bool,
    context: &RequestContext<RoleServer>,
) -> Phase {
    let started = Instant::now();
    let mut end = pin!(sleep(server.rules.answer_within));
    let mut notes = interval(BETWEEN_NOTES);
    loop {
        let phase = phases.borrow_and_update().clone();
        if matches!(phase, Phase::Ended(..)) || is_task && matches!(phase, Phase::Waiting(_)) {
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

/// Whether the client has the Tasks extension: then a call returns as soon as the service has
/// accepted the picture, and the client polls a task, whose id is the number of the picture. A task
/// outlives the server.
fn polls_tasks(context: &RequestContext<RoleServer>) -> bool {
    context.client_capabilities().is_some_and(|client| client.supports_tasks())
}

/// Returns the task of a picture that is in progress.
fn working(entry: &Entry) -> Task {
    let created = rfc3339(entry.at());
    Task::new(format!("@{}", entry.number), TaskStatus::Working, created, rfc3339(now()))
        .with_poll_interval_ms(BETWEEN_POLLS.as_millis() as u64)
}

/// Returns the state of a task, and its result. The server that created the task may have ended, so
/// unfinished work is resumed.
pub async fn task(server: &Arc<Server>, id: &str) -> Result<DetailedTask, Failure> {
    let entry = server.folders.picture(server.context.process(), id)?;
    if server.can_resume(&entry) {
        server.resume(&entry);
        return Ok(DetailedTask::new(working(&entry), TaskPayload::Working));
    }
    let result = results::of_entry(server, &entry, None, None).await;
    let Ok(Value::Object(result)) = serde_json::to_value(result) else {
        return Err(Failure::usage("the result is not JSON"));
    };
    Ok(DetailedTask::new(working(&entry), TaskPayload::Completed { result }))
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
) -> Result<CallToolResponse, Failure> {
    let LookArguments { number } = requests::read(arguments)?;
    let process = server.context.process();
    let Some(number) = number else {
        let entries = history::unfinished(process)?.flatten().filter(|entry| server.is_own(entry));
        let unfinished: Vec<Value> = entries.map(|entry| results::facts(&entry)).collect();
        let budget = server.left();
        return Ok(results::plain(json!({ "unfinished": unfinished, "budget": budget })).into());
    };
    let text = number.as_str().map_or_else(|| number.to_string(), str::to_owned);
    let entry = server.folders.picture(process, &text)?;
    if !server.can_resume(&entry) {
        return Ok(results::of_entry(server, &entry, None, None).await.into());
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
    let limit = wanted.limit.unwrap_or(FOUND).clamp(1, 50);
    let found = server.folders.pictures(server.context.process(), limit, has_words)?;
    let found: Vec<Value> = found.iter().map(results::facts).collect();
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

/// Describes an image model, with the fields that a language model may set.
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
