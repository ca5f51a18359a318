//! The token of the control interface. Programs send it in a header, the browser in a cookie.

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::Response,
};
use sha2::{Digest as _, Sha256};
use url::form_urlencoded;

use crate::values::secret::Secret;

const COOKIE: &str = "imagekiln-control";

pub(super) struct Token {
    token: Secret<String>,
}

impl Token {
    pub(super) fn new(token: Secret<String>) -> Self {
        Self { token }
    }

    /// Compares digests, so that the time says nothing about the token.
    fn is(&self, given: &str) -> bool {
        Sha256::digest(given) == Sha256::digest(self.token.expose())
    }

    /// Whether the headers contain it.
    pub(super) fn is_in(&self, headers: &HeaderMap) -> bool {
        let text = |value: &HeaderValue| value.to_str().map(str::to_owned).unwrap_or_default();
        let bearer = headers.get(header::AUTHORIZATION).map(text);
        let bearer = bearer.as_deref().and_then(|value| value.strip_prefix("Bearer "));
        bearer.is_some_and(|given| self.is(given.trim()))
            || headers.get_all(header::COOKIE).iter().map(text).any(|cookies| {
                let mut pairs = cookies.split(';').filter_map(|pair| pair.trim().split_once('='));
                pairs.any(|(name, given)| name == COOKIE && self.is(given))
            })
    }

    /// The response to the page's URL with the token: a cookie instead of it, so that it does not
    /// stay in the address bar.
    pub(super) fn enter(&self, request: &Request) -> Option<Response> {
        let uri = request.uri();
        if request.method() != Method::GET || uri.path() != "/" {
            return None;
        }
        let mut parameters = form_urlencoded::parse(uri.query()?.as_bytes());
        let (_, given) = parameters.find(|(name, _)| name == "token")?;
        let cookie = self.is(&given).then(|| {
            format!("{COOKIE}={}; HttpOnly; SameSite=Strict; Path=/", self.token.expose())
        })?;
        let mut cookie = HeaderValue::try_from(cookie).ok()?;
        cookie.set_sensitive(true);
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::SEE_OTHER;
        response.headers_mut().insert(header::SET_COOKIE, cookie);
        response.headers_mut().insert(header::LOCATION, HeaderValue::from_static("/"));
        Some(response)
    }
}
