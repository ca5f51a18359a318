//! The control interface and its page, with which people and tests observe and change the
//! simulator. It has a separate port, which is loopback or requires a token. It does not accept API
//! keys.

mod accounts;
mod events;
mod faults;
mod guard;
mod logs;
mod metrics;
mod openapi;
mod projects;
mod response;
mod state;
mod tasks;

use std::{collections::BTreeMap, net::SocketAddr, sync::Arc};

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header},
    routing::{MethodRouter, get, post},
};
use serde_json::json;

use self::response::{ControlResult, Problem};
use crate::{
    contract::Region,
    endpoints::{self, Endpoint},
    state::AppState,
};

/// The state of the simulator, as an argument of a handler.
type Shared = State<Arc<AppState>>;

/// Paths, their descriptions, which [`index`] shows, and the handlers of their methods.
///
/// A description has the form `METHODS ?PARAMETERS {FIELDS}: MEANING`, of which only the methods
/// are required.
type Routes = Vec<(&'static str, &'static str, MethodRouter<Arc<AppState>>)>;

/// The paths of the control interface, except for the files of its page.
fn routes() -> Routes {
    let mut routes: Routes = vec![
        ("/healthz", "GET: without a token, at all ports", get(state::health)),
        (
            "/api",
            "GET: these paths, with their methods, parameters, fields of the body, and meaning",
            get(index),
        ),
        ("/metrics", "GET: for Prometheus", get(metrics::show)),
        (
            "/api/state",
            "GET: settings, counts, clock, `lateness` of clients: seconds from Ready to the first \
             poll with it (`found`) and request for the picture (`fetched`), `polls` of each task",
            get(state::overview),
        ),
        ("/api/events", "GET: server-sent events `change`", get(events::stream)),
        (
            "/api/openapi.json",
            "GET ?responses,keywords: the contract with this prefix; `inline` avoids references, \
             `standard` avoids `x-`",
            get(openapi::document),
        ),
        ("/api/connection", "GET: base URLs and key", get(state::connection)),
        (
            "/api/clock",
            "GET, PUT {speed}: the time and its speed",
            get(state::time).put(state::set_speed),
        ),
        ("/api/clock/advance", "POST {seconds}", post(state::advance)),
        ("/api/webhooks", "GET ?limit: newest first", get(logs::webhooks)),
        ("/api/webhooks/{delivery}/redeliver", "POST", post(logs::redeliver)),
        ("/api/requests", "GET: the journal, by a pattern", get(logs::requests)),
        (
            "/api/requests/verify",
            "POST: counts the requests of the journal that match the pattern in the body",
            post(logs::verify),
        ),
        (
            "/api/reset",
            "POST {organization,project}: returns to the start, except for the time",
            post(state::reset),
        ),
        (
            "/api/snapshot",
            "GET, PUT: the state, to save and to restore",
            get(state::snapshot).put(state::restore),
        ),
        ("/api/audit", "GET ?limit: newest first", get(logs::audit)),
        ("/api/ledger", "GET ?limit: newest first", get(logs::ledger)),
        (
            "/api/usage",
            "GET ?format: what each task cost, oldest first, as CSV, or `json`",
            get(logs::usage),
        ),
    ];
    routes.extend(accounts::routes());
    routes.extend(projects::routes());
    routes.extend(faults::routes());
    routes.extend(tasks::routes());
    routes
}

/// Creates the router of the control interface at `address`.
pub(crate) fn router(state: Arc<AppState>, address: SocketAddr) -> Router {
    let endpoint = |region| {
        endpoints::router(Endpoint { state: Arc::clone(&state), region, is_forwarded: true })
    };
    routes()
        .into_iter()
        .fold(page(), |router, (path, _, methods)| router.route(path, methods))
        .method_not_allowed_fallback(async || {
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed")
        })
        .fallback(async || Problem::unknown("page or resource"))
        .with_state(Arc::clone(&state))
        .merge(viewer())
        // The service itself, which the page can call this way without a request to another origin.
        .nest_service("/try/global", endpoint(Region::Global))
        .nest_service("/try/regional", endpoint(Region::Regional))
        .layer(axum::middleware::from_fn_with_state(
            guard::Guard::new(address, state.config.control_token.as_ref()),
            guard::check,
        ))
}

/// The path and content of each file of the page.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// Serves the files of the page, which are built into the crate.
fn page() -> Router<Arc<AppState>> {
    FILES.iter().fold(Router::new(), |router, (path, content)| {
        let file = ([(header::CONTENT_TYPE, media_type(path))], *content);
        let path = path.strip_suffix("index.html").unwrap_or(path);
        router.route(path, get(async move || file))
    })
}

fn media_type(path: &str) -> &'static str {
    match path.rsplit_once('.') {
        Some((_, "html")) => "text/html; charset=utf-8",
        Some((_, "js")) => "text/javascript; charset=utf-8",
        Some((_, "css")) => "text/css; charset=utf-8",
        Some((_, "svg")) => "image/svg+xml",
        _ => "text/plain; charset=utf-8",
    }
}

/// Serves Swagger UI without its own page, because the page of the control interface embeds it.
#[cfg(feature = "viewer")]
fn viewer() -> Router {
    swagger_ui_dist::generate_routes(swagger_ui_dist::ApiDefinition {
        uri_prefix: "/swagger-ui",
        api_definition: swagger_ui_dist::OpenApiSource::Uri("/api/openapi.json"),
        title: None,
    })
}

/// Serves nothing, so the page says that Swagger UI is missing.
#[cfg(not(feature = "viewer"))]
fn viewer() -> Router {
    Router::new()
}

/// Shows the reference of the control interface: all paths and their descriptions. A test compares
/// the reference with the handlers.
async fn index() -> ControlResult {
    let paths: BTreeMap<_, _> = routes().into_iter().map(|(path, text, _)| (path, text)).collect();
    response::json(&json!({ "paths": paths }))
}
