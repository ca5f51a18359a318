//! What a model reads about a picture, or about a failure: facts, what to do next, and what is left
//! of the budget.

use std::path::Path;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use image::{DynamicImage, codecs::jpeg::JpegEncoder};
use rmcp::model::{CallToolResult, ContentBlock, Resource};
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use super::Server;
use crate::{
    failure::Failure,
    history::Entry,
    seeing::decoded,
    text::{json::with_known, rfc3339},
};
use imagekiln::{ErrorKind, Violation, journal::Key};

/// The longer side of a preview in pixels, and its largest size in bytes.
const PREVIEW: u32 = 512;
const LARGEST: usize = 200_000;
pub const PREVIEW_TYPE: &str = "image/jpeg";

/// The beginning of the URIs of previews, which end with the number of the picture.
pub const PICTURES: &str = "kiln://pictures/";

/// The maximum number of characters of a prompt in the facts.
const LONGEST_PROMPT: usize = 200;

const MISSING: &str = "\
It is paid, but its file was deleted or moved since, and it could not be fetched again. Do not \
make it again: ask the person for the file.";

const CHANGED: &str = "\
The file has changed since it was saved, and the picture could not be fetched again.";

const OTHER_KEY: &str = "\
This was paid with another API key. If that key belongs to another account, this is a picture of \
that account: tell the person.";

const UNKNOWN: &str = "\
It is unknown whether this was paid. Do not make it again, and not with other words or another \
seed either: tell the person, who looks at the usage of the service and runs `kiln task resolve \
@N ID` if the task is there, or else `kiln task dismiss @N`.";

const MODERATED: &str = "\
The service refused the content. The same request fails and costs again: change what it asks for, \
or tell the person.";
const NO_PICTURE: &str = "\
No picture will come, and the same call says so again. `attempt` with the next number pays for \
another one: ask the person first.";

/// Returns a result without a picture.
pub fn plain(facts: Value) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(facts.to_string())]);
    result.structured_content = Some(facts);
    result
}

fn error(facts: Value) -> CallToolResult {
    let mut result = plain(facts);
    result.is_error = Some(true);
    result
}

/// Returns what is known about a submission.
pub fn facts(entry: &Entry) -> Value {
    let path = entry.saved_path();
    let size = path.and_then(|path| imagesize::size(path).ok());
    let prompt = entry.prompt().map(|prompt| match prompt.char_indices().nth(LONGEST_PROMPT) {
        Some((end, _)) => format!("{}...", prompt.get(..end).unwrap_or_default()),
        None => prompt.to_owned(),
    });
    let mut facts = json!({
        "number": format!("@{}", entry.number),
        "state": state(entry),
        "path": path.map(Path::to_string_lossy),
        "model": entry.model(),
        "seed": entry.seed(),
        "size": size.map(|size| format!("{}x{}", size.width, size.height)),
        "cost": entry.cost(),
        "prompt": prompt,
        "key": entry.record.intent().key().map(Key::name),
        "submitted_at": rfc3339(entry.at()),
    });
    if let Some(facts) = facts.as_object_mut() {
        facts.retain(|_, value| !value.is_null());
    }
    facts
}

fn state(entry: &Entry) -> &'static str {
    match entry.state() {
        "submitting" | "waiting" | "unfinished" | "damaged" => "in_progress",
        "deleted" => "missing",
        state => state,
    }
}

/// Returns the result of a call about a submission, with a preview if its picture is saved.
/// `problem` is the reason why the last work on it has failed.
pub async fn of_entry(
    server: &Server,
    entry: &Entry,
    problem: Option<&Failure>,
    paid_now: Option<bool>,
) -> CallToolResult {
    let number = entry.number;
    let is_intact = entry.is_intact();
    let next = match state(entry) {
        "saved" if is_intact => None,
        "saved" => Some(CHANGED.to_owned()),
        "missing" => Some(MISSING.to_owned()),
        "in_progress" => Some(format!(
            "It goes on by itself. Call `look` with number @{number} in about {} s. Do not make it \
             again.",
            server.rules.answer_within.as_secs().clamp(5, 60)
        )),
        "unknown" => Some(UNKNOWN.replace("@N", &format!("@{number}"))),
        "moderated" => Some(MODERATED.to_owned()),
        _ => Some(NO_PICTURE.to_owned()),
    };
    let has_failed = !matches!(state(entry), "saved" | "missing" | "in_progress");
    // Nobody knows yet whether an unknown submission was paid.
    let paid_now = paid_now.filter(|_| state(entry) != "unknown");
    let problem = problem.filter(|_| state(entry) == "in_progress" || !is_intact);
    let has_other_key = server.session.client.has_key_of(&entry.record) == Some(false);
    let members = [
        ("budget", Some(server.left())),
        ("paid_now", paid_now.map(Value::from)),
        ("next", next.map(Value::from)),
        ("details", entry.record.details().cloned()),
        ("problem", problem.map(|problem| message(problem).into())),
        ("warning", has_other_key.then(|| OTHER_KEY.into())),
    ];
    let facts = with_known(facts(entry), members);
    if has_failed {
        return error(facts);
    }
    let mut result = plain(facts);
    if let Some(path) = entry.saved_path().filter(|path| server.folders.contain(path)) {
        let image = preview(path).await.map(|data| ContentBlock::image(data, PREVIEW_TYPE));
        result.content.extend(image);
        result.content.push(ContentBlock::resource_link(link(number)));
    }
    result
}

/// Returns the result of a call that failed before there was a task.
pub fn of_failure(server: &Server, failure: &Failure) -> CallToolResult {
    let paid = match failure {
        _ if failure.billing_unknown => "unknown",
        _ if failure.task.is_some() => "yes",
        _ => "no",
    };
    let problem =
        |violation: &Violation| json!({ "field": violation.field(), "problem": violation.msg });
    let problems: Vec<Value> = failure.violations.iter().map(problem).collect();
    let facts = json!({
        "state": "failed",
        "error": failure.kind,
        "message": message(failure),
        "paid": paid,
        "next": next(failure),
        "budget": server.left(),
    });
    let members = [
        ("problems", (!problems.is_empty()).then(|| problems.into())),
        ("number", failure.number.map(|number| format!("@{number}").into())),
    ];
    error(with_known(facts, members))
}

fn message(failure: &Failure) -> String {
    // Advice that names command-line options is for people at a terminal.
    let advice = failure.advice.as_ref().filter(|advice| !advice.contains("--"));
    let advice = advice.map_or_else(String::new, |advice| format!("; {advice}"));
    failure.with_causes() + &advice
}

fn next(failure: &Failure) -> String {
    let is = |kind| failure.is(kind);
    let next = if failure.billing_unknown {
        let number = failure.number.map_or("@N".to_owned(), |number| format!("@{number}"));
        return UNKNOWN.replace("@N", &number);
    } else if is(ErrorKind::Payment) {
        "Nothing was sent or paid. Only the person can raise the budget or add credits: tell them."
    } else if is(ErrorKind::Validation) || is(ErrorKind::Usage) || is(ErrorKind::KeyConflict) {
        "Nothing was sent or paid. Correct the arguments; `models` has the fields and their bounds."
    } else if is(ErrorKind::Moderated) {
        "The same request fails again: change what it asks for, or tell the person."
    } else if is(ErrorKind::RateLimited) || is(ErrorKind::Network) || is(ErrorKind::InProgress) {
        "Nothing more was paid. Repeat exactly the same call in a minute."
    } else {
        "Tell the person. Repeating the same call pays nothing more."
    };
    next.to_owned()
}

/// Returns the resource with the preview of a saved picture.
pub fn link(number: u64) -> Resource {
    Resource::new(format!("{PICTURES}{number}"), format!("@{number}")).with_mime_type(PREVIEW_TYPE)
}

/// Returns a small JPEG of a picture in base64, or `None` if the file cannot be decoded.
pub async fn preview(path: &Path) -> Option<String> {
    let path = path.to_owned();
    let bytes = spawn_blocking(move || scaled(&path)).await.ok().flatten()?;
    Some(BASE64_STANDARD.encode(bytes))
}

fn scaled(path: &Path) -> Option<Vec<u8>> {
    let picture = decoded(path).ok()?;
    let is_small = picture.width().max(picture.height()) <= PREVIEW;
    let picture = if is_small { picture } else { picture.thumbnail(PREVIEW, PREVIEW) };
    let picture = DynamicImage::from(picture.into_rgb8());
    [80, 50, 20].into_iter().find_map(|quality| {
        let mut bytes = Vec::new();
        picture.write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, quality)).ok()?;
        (bytes.len() <= LARGEST).then_some(bytes)
    })
}
