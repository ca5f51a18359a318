//! Restricts the control interface to programs on this machine and to its own page, or to clients
//! that send its token. Rejects requests with an API key, and requests that other pages in the same
//! browser send.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use axum::{
    extract::{Request, State},
    http::uri::Authority,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse as _, Response},
};

use sha2::{Digest as _, Sha256};

use super::response::Problem;
use crate::{
    contract::key_header,
    endpoints,
    http::{outgoing::USER_AGENT, response::media_type},
    values::secret::Secret,
};

/// The content security policy: the page loads everything only from this server, and no other page
/// can embed it. The documentation viewer has its icons as `data:` in its style sheet.
const POLICY: &str = concat!(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; ",
    "media-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; ",
    "frame-ancestors 'none'",
);

const HEADERS: [(&str, &str); 6] = [
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("cache-control", "no-store"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
];

/// The only paths that accept an API key, because they forward requests of the page to the service.
const FORWARDED: &str = "/try/";

/// The path with which supervisors check whether the simulator runs. It does not require the token.
const HEALTH: &str = "/healthz";

const UNAUTHORIZED: &str = "The control interface requires its token: send the header \
    `authorization: Bearer TOKEN`, or open the page with `?token=TOKEN`";

#[derive(Clone)]
pub(super) struct Guard {
    port: u16,
    token: Option<Arc<Token>>,
}

impl Guard {
    pub(super) fn new(address: SocketAddr, token: Option<&Secret<String>>) -> Self {
        let token = token.map(|token| Arc::new(Token(token.clone())));
        Self { port: address.port(), token }
    }

    fn admit(&self, request: &Request) -> Result<(), Problem> {
        let headers = request.headers();
        // Webhooks come from this machine, too, and whoever has an API key chooses their URLs.
        if headers.get(header::USER_AGENT).is_some_and(|agent| agent == USER_AGENT) {
            return Err(Problem::forbidden("The control interface does not accept webhooks"));
        }
        if let Some(token) = &self.token
            && request.uri().path() != HEALTH
            && !token.is_in(headers)
        {
            return Err(Problem::new(StatusCode::UNAUTHORIZED, UNAUTHORIZED));
        }
        let host = self.host(request)?;
        check_origin(headers, &host)?;
        check_site(request)?;
        if request.uri().path().starts_with(FORWARDED) {
            return Ok(());
        }
        if headers.contains_key(key_header()) {
            return Err(Problem::forbidden(format!(
                "The control interface does not take API keys; remove the {} header",
                key_header()
            )));
        }
        check_kind(request)
    }

    /// Returns the host of the request, which must be a loopback address or `localhost` and the
    /// port of this server. Otherwise, a foreign page whose name resolves to this machine would
    /// have the same origin as this server in a browser.
    ///
    /// With a token, any host is accepted: the browser sends the cookie with the token only to the
    /// name that has set it.
    fn host(&self, request: &Request) -> Result<Authority, Problem> {
        let host = endpoints::host(request.uri(), request.headers());
        let is_here = |host: &Authority| {
            self.token.is_some()
                || host.port_u16().unwrap_or(80) == self.port && is_loopback(host.host())
        };
        host.filter(is_here).ok_or_else(|| {
            Problem::forbidden(
                "The control interface is only served at a loopback address and its own port",
            )
        })
    }
}

fn foreign_page() -> Problem {
    Problem::forbidden("The control interface does not accept requests from other pages")
}

fn is_loopback(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Refuses requests of scripts of other pages, which have the origin of their page.
fn check_origin(headers: &HeaderMap, host: &Authority) -> Result<(), Problem> {
    // The scheme may be https, because a proxy may end TLS.
    let own = ["http", "https"].map(|scheme| format!("{scheme}://{host}"));
    let is_own = |origin: &HeaderValue| own.iter().any(|own| origin == own);
    if headers.get(header::ORIGIN).is_none_or(is_own) { Ok(()) } else { Err(foreign_page()) }
}

/// Refuses requests of other pages that have no `Origin`. Browsers report their source in another
/// header. The ports of the service belong to the same site, but count as foreign, because faults
/// decide what they serve. Only following a link to the page is harmless.
fn check_site(request: &Request) -> Result<(), Problem> {
    let header_value = |name: &str| request.headers().get(name).map(HeaderValue::as_bytes);
    let follows_link = request.method() == Method::GET
        && request.uri().path() == "/"
        && header_value("sec-fetch-mode") == Some(b"navigate")
        && header_value("sec-fetch-dest") == Some(b"document");
    match header_value("sec-fetch-site") {
        None | Some(b"same-origin" | b"none") => Ok(()),
        Some(_) if follows_link => Ok(()),
        Some(_) => Err(foreign_page()),
    }
}

/// Requires JSON for changes. A form of another page can send text, but it can send JSON only after
/// a preflight request, which is refused.
fn check_kind(request: &Request) -> Result<(), Problem> {
    if ![Method::POST, Method::PUT, Method::PATCH].contains(request.method()) {
        return Ok(());
    }
    if media_type(request.headers()).eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(Problem::malformed("A change requires the header content-type: application/json"))
}

pub(super) async fn check(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let entered = guard.token.as_ref().and_then(|token| token.enter(&request));
    let mut response = match (entered, guard.admit(&request)) {
        (Some(entered), _) => entered,
        (None, Ok(())) => next.run(request).await,
        (None, Err(problem)) => problem.into_response(),
    };
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// The cookie in which a browser keeps the token.
const COOKIE: &str = "imagekiln-control";

/// The token of the control interface. Programs send it in a header, and browsers send it in a
/// cookie.
struct Token(Secret<String>);

impl Token {
    /// Compares digests, so that the time of the comparison reveals nothing about the token.
    fn is(&self, given: &str) -> bool {
        Sha256::digest(given) == Sha256::digest(self.0.expose())
    }

    /// Whether the headers contain the token.
    fn is_in(&self, headers: &HeaderMap) -> bool {
        let text = |value: &HeaderValue| value.to_str().map(str::to_owned).unwrap_or_default();
        let bearer = headers.get(header::AUTHORIZATION).map(text);
        let bearer = bearer.as_deref().and_then(|value| value.strip_prefix("Bearer "));
        bearer.is_some_and(|given| self.is(given.trim()))
            || headers.get_all(header::COOKIE).iter().map(text).any(|cookies| {
                let mut pairs = cookies.split(';').filter_map(|pair| pair.trim().split_once('='));
                pairs.any(|(name, given)| name == COOKIE && self.is(given))
            })
    }

    /// Responds to the page's URL with the token: sets the cookie and redirects to the URL without
    /// the token, so that the token does not stay in the address bar.
    fn enter(&self, request: &Request) -> Option<Response> {
        let uri = request.uri();
        if request.method() != Method::GET || uri.path() != "/" {
            return None;
        }
        let given = endpoints::parameter(uri, "token")?;
        let cookie = self
            .is(&given)
            .then(|| format!("{COOKIE}={}; HttpOnly; SameSite=Strict; Path=/", self.0.expose()))?;
        let mut cookie = HeaderValue::try_from(cookie).ok()?;
        cookie.set_sensitive(true);
        let page = HeaderValue::from_static("/");
        let headers = [(header::SET_COOKIE, cookie), (header::LOCATION, page)];
        Some((StatusCode::SEE_OTHER, headers).into_response())
    }
}
