//! What a client can show to the person beside the results: previews of pictures, whole pictures,
//! and the history.

use std::fs;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use rmcp::model::{Resource, ResourceContents, ResourceTemplate};
use serde_json::{Value, json};

use super::{
    Server,
    results::{PICTURES, PREVIEW_TYPE, facts, link, preview},
};
use crate::{failure::Failure, history::Entry, text::one_line};
use imagekiln::FileKind;

const WHOLE: &str = "/whole";
const HISTORY: &str = "kiln://history";
const JSON: &str = "application/json";

/// The number of pictures in lists.
const LISTED: usize = 50;

/// The maximum size of a whole picture in bytes.
const LARGEST: u64 = 8 * 1024 * 1024;

/// Lists the history and the newest pictures.
pub fn list(server: &Server) -> Result<Vec<Resource>, Failure> {
    let is_saved = |entry: &Entry| entry.state() == "saved";
    let pictures = server.folders.pictures(server.context.process(), LISTED, is_saved)?;
    let pictures = pictures.into_iter().map(|entry| {
        let about = entry.prompt().map(one_line);
        about.into_iter().fold(link(entry.number), Resource::with_description)
    });
    let history = Resource::new(HISTORY, "history").with_mime_type(JSON);
    let history = history.with_description("The newest pictures with their prompts and costs");
    Ok([history].into_iter().chain(pictures).collect())
}

pub fn templates() -> Vec<ResourceTemplate> {
    let preview = ResourceTemplate::new(format!("{PICTURES}{{number}}"), "preview")
        .with_description("A scaled picture")
        .with_mime_type(PREVIEW_TYPE);
    let whole = ResourceTemplate::new(format!("{PICTURES}{{number}}{WHOLE}"), "picture")
        .with_description("A picture as it was saved");
    vec![preview, whole]
}

pub async fn read(server: &Server, uri: &str) -> Result<ResourceContents, Failure> {
    if uri == HISTORY {
        let entries = server.folders.pictures(server.context.process(), LISTED, |_| true)?;
        let pictures: Vec<Value> = entries.iter().map(facts).collect();
        let text = json!({ "pictures": pictures }).to_string();
        return Ok(ResourceContents::text(text, uri).with_mime_type(JSON));
    }
    let unknown = || Failure::request(format!("{} is not a resource", one_line(uri)));
    let name = uri.strip_prefix(PICTURES).ok_or_else(unknown)?;
    let (number, is_whole) = match name.strip_suffix(WHOLE) {
        Some(number) => (number, true),
        None => (name, false),
    };
    let entry = server.folders.picture(server.context.process(), number)?;
    let path = entry.saved_path().filter(|path| server.folders.contain(path));
    let path = path.ok_or_else(|| Failure::request(format!("@{number} is not saved")))?;
    let failed = |error| Failure::file(format!("could not read {}", path.display()), error);
    if !is_whole {
        let shown = preview(path)
            .await
            .ok_or_else(|| Failure::request(format!("{} cannot be decoded", path.display())))?;
        return Ok(ResourceContents::blob(shown, uri).with_mime_type(PREVIEW_TYPE));
    }
    if fs::metadata(path).map_err(failed)?.len() > LARGEST {
        let problem = format!("@{number} is too large to be sent: open {}", path.display());
        return Err(Failure::request(problem));
    }
    let bytes = fs::read(path).map_err(failed)?;
    let kind = FileKind::of(&bytes).ok_or_else(unknown)?;
    let blob = BASE64_STANDARD.encode(bytes);
    Ok(ResourceContents::blob(blob, uri).with_mime_type(kind.media_type()))
}
