//! The authentication and the servers of an operation.

use std::collections::BTreeSet;

use serde_json::Value;

use super::node::Fact;
use crate::contract::{DocumentNode, Fault};

/// The credentials by `security` of the operation, or else of the document, each with the headers
/// that every request must have. `None` if the operation needs no credentials.
pub fn credentials(
    root: &DocumentNode,
    operation: &DocumentNode,
    headers: &BTreeSet<String>,
) -> Result<Option<(&'static str, Fact)>, Fault> {
    let security = operation.get("security").or_else(|| root.get("security"));
    let requirements = security.map(|security| security.elements()).transpose()?;
    let requirements = requirements.unwrap_or_default();
    let mut alternatives = BTreeSet::new();
    for requirement in &requirements {
        alternatives.insert(required(root, requirement)?);
    }
    if alternatives.is_empty() {
        alternatives.insert(BTreeSet::new());
    }
    let headers: BTreeSet<_> = headers.iter().map(|name| key("header", name)).collect();
    let alternatives: BTreeSet<_> = alternatives.iter().map(|sent| sent | &headers).collect();
    let is_open = alternatives.contains(&BTreeSet::new());
    Ok((!is_open).then_some(("authentication", Fact::Credentials(alternatives))))
}

fn required(root: &DocumentNode, requirement: &DocumentNode) -> Result<BTreeSet<String>, Fault> {
    let mut credentials = BTreeSet::new();
    for (name, scopes) in requirement.members()? {
        let schemes = root.get("components").and_then(|parts| parts.get("securitySchemes"));
        let scheme = schemes.and_then(|schemes| schemes.get(name)).ok_or_else(|| {
            requirement.fault(format!("`{name}` is not in `components.securitySchemes`"))
        })?;
        credentials.insert(described(&scheme.resolved()?)?);
        let scopes = scopes.strings()?;
        credentials.extend(scopes.into_iter().map(|scope| format!("scope {scope}")));
    }
    Ok(credentials)
}

fn described(scheme: &DocumentNode) -> Result<String, Fault> {
    let text = |key: &str| scheme.need(key).and_then(|text| text.string());
    Ok(match text("type")? {
        "apiKey" => key(text("in")?, text("name")?),
        "http" => format!("HTTP {}", text("scheme")?.to_lowercase()),
        "oauth2" => "OAuth 2".to_owned(),
        "openIdConnect" => format!("OpenID Connect by {}", text("openIdConnectUrl")?),
        other => other.to_owned(),
    })
}

/// An API key. The case of letters matters, except in headers.
fn key(location: &str, name: &str) -> String {
    match location {
        "header" => format!("key in header {}", name.to_lowercase()),
        _ => format!("key in {location} {name}"),
    }
}

/// The headers that a document uses for API keys, in lower case.
pub fn credential_headers(document: &Value) -> BTreeSet<String> {
    let schemes = document.pointer("/components/securitySchemes").and_then(Value::as_object);
    let schemes = schemes.into_iter().flat_map(serde_json::Map::values);
    let keys = schemes.filter(|scheme| scheme["in"] == "header");
    keys.filter_map(|scheme| scheme["name"].as_str()).map(str::to_lowercase).collect()
}

/// The URLs of an operation's servers; `None` if the document states none.
///
/// The operation's own servers replace those of its path, and these replace those of the document.
pub fn servers(
    root: &DocumentNode,
    item: &DocumentNode,
    operation: &DocumentNode,
) -> Result<Option<(&'static str, Fact)>, Fault> {
    for holder in [operation, item, root] {
        let servers = holder.elements_of("servers")?;
        if !servers.is_empty() {
            let urls = servers.iter().map(url).collect::<Result<Vec<_>, _>>()?;
            let named: BTreeSet<_> = urls.into_iter().filter(|url| !says_nothing(url)).collect();
            return Ok((!named.is_empty()).then_some(("servers", Fact::Any(named))));
        }
    }
    Ok(None)
}

/// The URL of a server, with the default of each variable.
fn url(server: &DocumentNode) -> Result<String, Fault> {
    let mut parts = server.need("url")?.string()?.split('{');
    let mut url = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once('}').unwrap_or((part, ""));
        url += server.need("variables")?.need(name)?.need("default")?.string()?;
        url += rest;
    }
    Ok(url.trim_end_matches('/').to_owned())
}

/// Whether the URL is only the host of the document itself (`/`), or a placeholder. The top-level
/// domain `.invalid` is reserved, so its names never resolve.
fn says_nothing(url: &str) -> bool {
    let Some((_, rest)) = url.split_once("://") else { return url.is_empty() };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default().trim_end_matches('.').to_lowercase();
    host == "invalid" || host.ends_with(".invalid")
}
