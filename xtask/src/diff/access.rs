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
) -> Result<Option<Fact>, Fault> {
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
    let headers: BTreeSet<_> = headers.iter().map(|name| key(name)).collect();
    let alternatives: BTreeSet<_> = alternatives.iter().map(|sent| sent | &headers).collect();
    let is_open = alternatives.contains(&BTreeSet::new());
    Ok((!is_open).then_some(Fact::Credentials(alternatives)))
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
        "apiKey" if text("in")? == "header" => key(text("name")?),
        "apiKey" => format!("key in {} {}", text("in")?, text("name")?),
        "http" => format!("HTTP {}", text("scheme")?.to_lowercase()),
        other => other.to_owned(),
    })
}

fn key(header: &str) -> String {
    format!("key in header {}", header.to_lowercase())
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
) -> Result<Option<Fact>, Fault> {
    for holder in [operation, item, root] {
        let servers = holder.elements_of("servers")?;
        if !servers.is_empty() {
            let mut named = BTreeSet::new();
            for server in &servers {
                let url = server.need("url")?.string()?.trim_end_matches('/');
                named.extend((!says_nothing(url)).then(|| url.to_owned()));
            }
            return Ok((!named.is_empty()).then_some(Fact::Any(named)));
        }
    }
    Ok(None)
}

/// Whether the URL is only the host of the document itself (`/`), or a placeholder. The top-level
/// domain `.invalid` is reserved, so its names never resolve.
fn says_nothing(url: &str) -> bool {
    let Some((_, rest)) = url.split_once("://") else { return url.is_empty() };
    let host = rest.split(['/', ':']).next().unwrap_or_default();
    host == "invalid" || host.ends_with(".invalid")
}
