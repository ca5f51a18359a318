//! `--listen`: the same server over Streamable HTTP, for clients on this machine that have its
//! token. All sessions share the keys and the budget.

use std::{io::Write as _, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{
        StatusCode,
        header::{AUTHORIZATION, WWW_AUTHENTICATE},
    },
    response::{IntoResponse as _, Response},
};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};

use super::{Handler, Server};
use crate::{
    failure::Failure,
    loopback::{self, Loopback, header},
};
use imagekiln_label::sha256;

/// The variable with a token that the person has chosen.
const TOKEN_VARIABLE: &str = "KILN_MCP_TOKEN";

/// The fewest characters of a token that the person has chosen.
const SHORTEST_TOKEN: usize = 16;

const PATH: &str = "/mcp";

/// How long a client may send nothing before its session ends. It is long, because an assistant may
/// wait for a person.
const LONGEST_SILENCE: Duration = Duration::from_secs(24 * 60 * 60);

struct Http {
    service: StreamableHttpService<Handler, LocalSessionManager>,
    /// The value that the header `Host` must have.
    host: String,
    /// The digest of the value that the header `Authorization` must have.
    authorization: String,
}

/// Serves the clients that connect, and tells the person how clients connect.
pub async fn serve(server: &Arc<Server>, address: SocketAddr) -> Result<(), Failure> {
    let process = server.context.process();
    let given = (process.variable)(TOKEN_VARIABLE).filter(|token| !token.is_empty());
    let given = given.map(|token| token.to_string_lossy().into_owned());
    if given.as_ref().is_some_and(|token| token.len() < SHORTEST_TOKEN) {
        return Err(Failure::settings(format!("{TOKEN_VARIABLE} is too short for a secret"))
            .advise(format!("give it at least {SHORTEST_TOKEN} characters, or unset it")));
    }
    let shown = given.is_some().then(|| format!("${TOKEN_VARIABLE}"));
    let token = given.map_or_else(loopback::token, Ok)?;
    let loopback = Loopback::listen(address).await?;
    let url = format!("http://{}{PATH}", loopback.host);
    let bearer = format!("Bearer {token}");
    let shown = shown.unwrap_or(token);
    let text = format!(
        "listening on {url} with the token {shown}, for example:\n\n  claude mcp add --transport \
         http pictures {url} --header \"Authorization: Bearer {shown}\"\n\n"
    );
    // A failure is ignored, because nobody may be reading standard error.
    let _ = process.stderr.clone().write_all(text.as_bytes());
    let handler = Handler(Arc::clone(server));
    let config = StreamableHttpServerConfig::default().with_allowed_hosts([loopback.host.clone()]);
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(LONGEST_SILENCE);
    let http = Http {
        service: StreamableHttpService::new(move || Ok(handler.clone()), sessions.into(), config),
        host: loopback.host.clone(),
        authorization: sha256(bearer.as_bytes()),
    };
    loopback
        .serve(Router::new().route(PATH, axum::routing::any(respond)).with_state(Arc::new(http)))
        .await
}

async fn respond(State(http): State<Arc<Http>>, request: Request) -> Response {
    let given = header(request.headers(), AUTHORIZATION).unwrap_or_default();
    let refusal = match loopback::check(request.headers(), &http.host) {
        Err(refusal) => refusal,
        // The time of comparing digests says nothing about the token.
        Ok(_) if sha256(given.as_bytes()) == http.authorization => {
            return http.service.handle(request).await.map(Body::new);
        }
        Ok(_) => {
            let advice = "pass the token: Authorization: Bearer TOKEN";
            (StatusCode::UNAUTHORIZED, advice.to_owned())
        }
    };
    ([(WWW_AUTHENTICATE, "Bearer")], refusal).into_response()
}
