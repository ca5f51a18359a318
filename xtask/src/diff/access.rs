//! The authentication and the servers of an operation.

use std::collections::BTreeSet;

use anyhow::bail;
use serde_json::Value;

use super::model::Relation;
use crate::contract::Place;

/// The maximum number of alternatives for authentication, and of characters in a server URL.
const ALTERNATIVES: usize = 100;
const URL_LENGTH: usize = 2000;

/// The credentials that an operation accepts.
///
/// Each alternative is a set of credentials that are sent together. The empty set means that the
/// operation needs no credentials.
#[derive(Debug, Clone, PartialEq)]
pub struct Authentication(BTreeSet<BTreeSet<String>>);

impl Authentication {
    /// The credentials by `security` of the operation, or else of the document.
    pub fn read(root: &Place, operation: &Place) -> anyhow::Result<Self> {
        let Some(security) = operation.get("security").or_else(|| root.get("security")) else {
            return Ok(Self::none());
        };
        let requirements = security.elements()?;
        if requirements.len() > ALTERNATIVES {
            return Err(security.fault(format!("more than {ALTERNATIVES} alternatives")).into());
        }
        let alternatives: BTreeSet<_> = requirements
            .iter()
            .map(|requirement| credentials(root, requirement))
            .collect::<anyhow::Result<_>>()?;
        Ok(if alternatives.is_empty() { Self::none() } else { Self(alternatives) })
    }

    fn none() -> Self {
        Self(BTreeSet::from([BTreeSet::new()]))
    }

    /// Adds a header that every request must have.
    pub fn with_header(self, name: &str) -> Self {
        let with = |mut alternative: BTreeSet<String>| {
            alternative.insert(key("header", name));
            alternative
        };
        Self(self.0.into_iter().map(with).collect())
    }

    pub fn relation(&self, theirs: &Self) -> Relation {
        Relation::from_inclusion(self.accepts(theirs), theirs.accepts(self))
    }

    /// Whether a caller that meets `other` is accepted here. Further credentials do no harm.
    fn accepts(&self, other: &Self) -> bool {
        other.0.iter().all(|sent| self.0.iter().any(|needed| needed.is_subset(sent)))
    }
}

impl std::fmt::Display for Authentication {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let alternatives: Vec<_> = self.0.iter().map(words).collect();
        formatter.write_str(&alternatives.join(" or "))
    }
}

fn words(credentials: &BTreeSet<String>) -> String {
    if credentials.is_empty() {
        return "none".into();
    }
    credentials.iter().cloned().collect::<Vec<_>>().join(" and ")
}

fn credentials(root: &Place, requirement: &Place) -> anyhow::Result<BTreeSet<String>> {
    let mut credentials = BTreeSet::new();
    for (name, scopes) in requirement.members()? {
        let schemes = root.get("components").and_then(|parts| parts.get("securitySchemes"));
        let Some(scheme) = schemes.and_then(|schemes| schemes.get(name)) else {
            let message = format!("`{name}` is not in `components.securitySchemes`");
            return Err(requirement.fault(message).into());
        };
        credentials.insert(described(&scheme.resolved()?)?);
        let scopes = scopes.strings()?;
        credentials.extend(scopes.into_iter().map(|scope| format!("scope {scope}")));
    }
    Ok(credentials)
}

fn described(scheme: &Place) -> anyhow::Result<String> {
    let text = |key: &str| scheme.need(key).and_then(|text| text.string());
    Ok(match text("type")? {
        "apiKey" => key(text("in")?, text("name")?),
        "http" => format!("HTTP {}", text("scheme")?.to_lowercase()),
        "oauth2" => "OAuth 2".into(),
        "openIdConnect" => format!("OpenID Connect by {}", text("openIdConnectUrl")?),
        "mutualTLS" => "mutual TLS".into(),
        other => other.into(),
    })
}

/// An API key. The case of letters matters, except in headers.
fn key(location: &str, name: &str) -> String {
    match location {
        "header" => format!("key in header {}", name.to_lowercase()),
        _ => format!("key in {location} {name}"),
    }
}

/// The URLs of an operation's servers; `None` if the document states none.
///
/// The operation's own servers replace those of its path, and these replace those of the document.
pub fn servers(root: &Place, item: &Place, operation: &Place) -> anyhow::Result<Servers> {
    for holder in [operation, item, root] {
        let servers = holder.elements_of("servers")?;
        if !servers.is_empty() {
            let urls = servers.iter().map(url).collect::<anyhow::Result<Vec<_>>>()?;
            let named: BTreeSet<_> = urls.into_iter().filter(|url| !says_nothing(url)).collect();
            return Ok(if named.is_empty() { None } else { Some(named) });
        }
    }
    Ok(None)
}

pub type Servers = Option<BTreeSet<String>>;

/// The URL of a server, with the default of each variable.
fn url(server: &Place) -> anyhow::Result<String> {
    let template = server.need("url")?;
    let mut url = String::new();
    let mut parts = template.string()?.split('{');
    url.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let (name, rest) = part.split_once('}').unwrap_or((part, ""));
        let variable = server.need("variables")?.need(name)?;
        url.push_str(variable.need("default")?.string()?);
        url.push_str(rest);
        if url.len() > URL_LENGTH {
            bail!(template.fault(format!("the URL is longer than {URL_LENGTH} characters")));
        }
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

/// The headers that a document uses for API keys, in lower case.
pub fn credential_headers(document: &Value) -> BTreeSet<String> {
    let schemes = document.pointer("/components/securitySchemes").and_then(Value::as_object);
    let keys = schemes
        .into_iter()
        .flat_map(serde_json::Map::values)
        .filter(|scheme| scheme["in"] == "header");
    keys.filter_map(|scheme| scheme["name"].as_str()).map(str::to_lowercase).collect()
}
