//! `kiln gallery --serve`: serves the page to this machine, so that a person can mark favourites
//! and delete files. The URL contains the token without which the server refuses requests.

use std::{
    fs, io,
    net::Ipv4Addr,
    path::{Path, PathBuf},
    sync::Arc,
};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{
        Method, StatusCode,
        header::{CACHE_CONTROL, CONTENT_TYPE},
    },
    response::{IntoResponse as _, Response},
};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Mutex;

use super::{
    folder::{self, DATA, SERVED},
    found, thumbnails,
};
use crate::{
    context::Context,
    failure::Failure,
    history,
    loopback::{self, Loopback, Refusal},
    pages::Kind,
    process::Interrupts,
    seeing,
};
use imagekiln::{FileKind, digest_of_file};

/// The maximum number of bytes in the body of a request, which contains the id and the digest of a
/// picture.
const MAX_BODY: usize = 4096;

struct Server {
    context: Context,
    folder: PathBuf,
    host: String,
    token: String,
    /// Locked by a request that changes something or writes the page, so only one does at a time.
    turn: Mutex<()>,
}

pub async fn run(context: &Context, folder: PathBuf, opens: bool) -> Result<(), Failure> {
    let interrupts = Interrupts::listen(context.process())?;
    let loopback = Loopback::listen((Ipv4Addr::LOCALHOST, 0).into()).await?;
    let (host, token) = (loopback.host.clone(), loopback::token()?);
    let url = format!("http://{host}/{token}/");
    let turn = Mutex::default();
    let server = Arc::new(Server { context: context.clone(), folder, host, token, turn });
    // Reports errors before the URL is printed. Later, the server writes the page whenever a
    // browser loads it.
    server.write().await?;
    context.output.result(
        || format!("serving the gallery on this machine; press Ctrl-C to stop\n\n  {url}\n"),
        || json!({ "event": "listening", "url": url }),
    )?;
    if opens {
        seeing::open(&context.output, Path::new(&url)).await;
    }
    let router = Router::new().fallback(respond).with_state(server);
    tokio::select! {
        biased;
        () = interrupts.first() => Ok(()),
        served = loopback.serve(router) => served,
    }
}

/// The body of a request with which the page changes a picture.
#[derive(Deserialize)]
struct Change {
    #[serde(default)]
    id: String,
    sha256: String,
    #[serde(default)]
    favourite: bool,
}

async fn respond(State(server): State<Arc<Server>>, request: Request) -> Response {
    let response = server.route(request).await;
    let mut response = response.unwrap_or_else(|(status, why)| (status, why).into_response());
    let fixed = [
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-resource-policy", "same-origin"),
        ("x-frame-options", "DENY"),
    ];
    for (name, value) in fixed {
        response.headers_mut().insert(name, value.parse().expect("it is a header value"));
    }
    response
}

impl Server {
    async fn route(&self, request: Request) -> Result<Response, Refusal> {
        let is_of_page = loopback::check(request.headers(), &self.host)?;
        if !is_of_page && request.method() != Method::GET {
            return Err((StatusCode::FORBIDDEN, "another origin".to_owned()));
        }
        let path = request.uri().path().to_owned();
        let below = path.strip_prefix('/').and_then(|path| path.strip_prefix(&self.token));
        let Some(name) = below.and_then(|path| path.strip_prefix('/')) else {
            return Err(missing());
        };
        match (request.method().clone(), name.split_once('/')) {
            (Method::GET, None) if name.is_empty() => {
                self.write().await.map_err(unavailable)?;
                file(&self.folder.join(SERVED), "text/html; charset=utf-8", "no-store")
            }
            (Method::GET, Some((DATA, name))) if is_plain(name) => {
                file(&self.folder.join(DATA).join(name), "text/javascript", "no-store")
            }
            (Method::GET, Some((thumbnails::DIRECTORY, name))) if is_plain(name) => {
                let path = self.folder.join(thumbnails::DIRECTORY).join(name);
                file(&path, "image/jpeg", "max-age=31536000, immutable")
            }
            (Method::GET, Some(("picture", id))) => {
                let path = self.path_of(id).await?;
                let content = fs::read(&path).map_err(|_| missing())?;
                // Serves only pictures and videos. If the file was replaced by a document such as
                // HTML, the browser must not run it as a page of this server.
                let kind = FileKind::of(&content).ok_or_else(missing)?;
                Ok(response(content, kind.media_type(), "no-store"))
            }
            (Method::POST, None) if name == "favourite" => {
                let change = self.change(request).await?;
                let _turn = self.turn.lock().await;
                let process = self.context.process();
                super::mark_favourite(process, &change.sha256, change.favourite)
                    .map_err(unavailable)?;
                Ok(json_response(&json!({ "favourite": change.favourite })))
            }
            (Method::POST, None) if name == "delete" => {
                let change = self.change(request).await?;
                let _turn = self.turn.lock().await;
                self.delete(&change).await
            }
            _ => Err(missing()),
        }
    }

    async fn change(&self, request: Request) -> Result<Change, Refusal> {
        let refused = || (StatusCode::BAD_REQUEST, "not a change in JSON".to_owned());
        if loopback::header(request.headers(), CONTENT_TYPE) != Some("application/json") {
            return Err(refused());
        }
        let body = to_bytes(request.into_body(), MAX_BODY).await.map_err(|_| refused())?;
        let change: Change = serde_json::from_slice(&body).map_err(|_| refused())?;
        let is_digest = change.sha256.len() == 64 && is_plain(&change.sha256);
        if is_digest { Ok(change) } else { Err(refused()) }
    }

    async fn path_of(&self, id: &str) -> Result<PathBuf, Refusal> {
        let found = found::path_of(&self.context, id).await.map_err(unavailable)?;
        found.ok_or_else(missing)
    }

    /// Deletes the file of a picture, unless the file has changed since the page showed it.
    async fn delete(&self, change: &Change) -> Result<Response, Refusal> {
        let path = self.path_of(&change.id).await?;
        let failed = |error: io::Error| {
            (StatusCode::CONFLICT, format!("could not delete {}: {error}", path.display()))
        };
        let digest = digest_of_file(&path).map_err(failed)?;
        if digest != change.sha256 {
            return Err(failed(io::Error::other("the file has changed")));
        }
        fs::remove_file(&path).map_err(failed)?;
        let reason = match change.id.parse() {
            Ok(number) => history::numbered(self.context.process(), number).ok().flatten(),
            Err(_) => None,
        };
        let here = &self.context.process().directory;
        let reason = reason.and_then(|entry| entry.how_to_restore(here));
        Ok(json_response(&json!({ "state": "deleted", "reason": reason })))
    }

    async fn write(&self) -> Result<(), Failure> {
        let _turn = self.turn.lock().await;
        folder::write(&self.context, &self.folder, Kind::Served).await
    }
}

/// Whether a name can be that of a file of the page. A path could lead out of the folder.
fn is_plain(name: &str) -> bool {
    let is_plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-".contains(&byte);
    !name.starts_with('.') && name.bytes().all(is_plain)
}

fn missing() -> Refusal {
    (StatusCode::NOT_FOUND, "not found".to_owned())
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn unavailable(failure: Failure) -> Refusal {
    (StatusCode::INTERNAL_SERVER_ERROR, failure.message.clone())
}

fn file(path: &Path, media_type: &str, cache: &'static str) -> Result<Response, Refusal> {
    Ok(response(fs::read(path).map_err(|_| missing())?, media_type, cache))
}

fn response(content: Vec<u8>, media_type: &str, cache: &'static str) -> Response {
    let headers = [(CONTENT_TYPE, media_type), (CACHE_CONTROL, cache)];
    (headers, Body::from(content)).into_response()
}

fn json_response(value: &serde_json::Value) -> Response {
    response(value.to_string().into_bytes(), "application/json", "no-store")
}
