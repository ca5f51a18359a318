//! Checks that the parts of the document agree: what one part names, another defines.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{DocumentNode, Faults, METHODS, all};

/// The expression for the URL of the receiver.
const WEBHOOK_URL: &str = "{$request.body#/webhook_url}";

type Operations<'a> = [(&'a str, DocumentNode<'a>)];

pub fn check(root: &DocumentNode) -> Result<(), Faults> {
    let operations = operations(root)?;
    let paths = operations.iter().map(|(path, operation)| check_path_parameters(path, operation));
    let parts = [
        check_version(root),
        check_tags(root, &operations),
        check_servers(root, &operations),
        check_security(root),
        check_migrations(&operations),
        check_callbacks(&operations),
        check_components(root),
    ];
    all(parts.into_iter().chain(paths)).map(drop)
}

fn check_version(root: &DocumentNode) -> Result<(), Faults> {
    let version = root.need("openapi")?;
    let is_known = version.string()?.starts_with("3.0.");
    ensure(is_known, &version, "expected an OpenAPI 3.0 document")
}

/// All operations, with their paths.
fn operations<'a>(root: &DocumentNode<'a>) -> Result<Vec<(&'a str, DocumentNode<'a>)>, Faults> {
    let mut operations = Vec::new();
    for (path, item) in root.members_of("paths")? {
        operations.extend(METHODS.iter().filter_map(|method| Some((path, item.get(method)?))));
    }
    Ok(operations)
}

/// The elements of the lists `keyword` of all operations, each with its operation.
fn elements<'a>(
    operations: &Operations<'a>,
    keyword: &str,
) -> Result<Vec<(DocumentNode<'a>, DocumentNode<'a>)>, Faults> {
    let lists = operations.iter().map(|(_, operation)| {
        let elements = operation.elements_of(keyword)?.into_iter();
        Ok(elements.map(|element| (*operation, element)).collect::<Vec<_>>())
    });
    Ok(all(lists)?.into_iter().flatten().collect())
}

fn check_tags(root: &DocumentNode, operations: &Operations) -> Result<(), Faults> {
    let tags = elements(operations, "tags")?;
    let mut defined = BTreeSet::new();
    let definitions = root.elements_of("tags")?.into_iter().map(|tag| {
        let name = tag.need("name")?;
        let text = name.string()?;
        ensure(defined.insert(text), &name, &format!("the tag `{text}` is defined twice"))?;
        let is_used = tags.iter().any(|(_, tag)| tag.value == text);
        ensure(is_used, &name, "no operation has this tag")
    });
    let definitions: Vec<_> = definitions.collect();
    let uses = tags.iter().map(|(_, tag)| {
        let name = tag.string()?;
        ensure(defined.contains(name), tag, &format!("the tag `{name}` is not defined"))
    });
    all(definitions.into_iter().chain(uses)).map(drop)
}

/// Each region needs one server, and each server's region an operation.
fn check_servers(root: &DocumentNode, operations: &Operations) -> Result<(), Faults> {
    let regions = operations.iter().filter_map(|(_, operation)| operation.get("x-region"));
    let regions: Vec<_> = regions.collect();
    let mut seen = BTreeSet::new();
    let servers = root.elements_of("servers")?.into_iter().map(|server| {
        let region = server.get("x-region");
        let name = region.map(|region| region.string()).transpose()?;
        ensure(seen.insert(name), &server, "another server has the same region")?;
        let Some(region) = region else { return Ok(()) };
        let is_used = regions.iter().any(|used| used.value == region.value);
        ensure(is_used, &region, "no operation is in this region")
    });
    let servers: Vec<_> = servers.collect();
    let list = root.need("servers")?;
    let global = ensure(seen.contains(&None), &list, "a server without `x-region` is missing");
    let needed = regions.iter().map(|region| {
        let region = region.string()?;
        let message = format!("a server with the region `{region}` is missing");
        ensure(seen.contains(&Some(region)), &list, &message)
    });
    all(servers.into_iter().chain([global]).chain(needed)).map(drop)
}

fn check_security(root: &DocumentNode) -> Result<(), Faults> {
    let schemes = root.need("components")?.need("securitySchemes")?;
    let requirements = root.elements_of("security")?;
    let used = all(requirements.iter().map(|requirement| requirement.members()))?;
    let each = used.iter().flatten().map(|(name, scheme)| {
        let message = format!("the security scheme `{name}` is not defined");
        ensure(schemes.get(name).is_some(), scheme, &message)
    });
    all(each).map(drop)
}

fn check_migrations(operations: &Operations) -> Result<(), Faults> {
    let targets = elements(operations, "x-migrate-to")?;
    let each = targets.iter().map(|(operation, target)| {
        let id = target.string()?;
        ensure(operation.flag("deprecated")?, target, "the operation is not deprecated")?;
        let found = find(operations, id, target)?;
        ensure(!found.flag("deprecated")?, target, &format!("`{id}` is deprecated, too"))
    });
    all(each).map(drop)
}

/// Finds the operation that `place` names.
fn find<'a>(
    operations: &Operations<'a>,
    id: &str,
    place: &DocumentNode,
) -> Result<DocumentNode<'a>, Faults> {
    let mut operations = operations.iter().map(|(_, operation)| operation);
    let found = operations.find(|operation| operation.value["operationId"] == id);
    found.copied().ok_or_else(|| place.fault(format!("`{id}` is not an operation")))
}

/// The parameters in the template of the path are those of the operation.
fn check_path_parameters(path: &str, operation: &DocumentNode) -> Result<(), Faults> {
    let in_path = path.split('{').skip(1);
    let in_path: BTreeSet<&str> =
        in_path.map(|rest| rest.split('}').next().unwrap_or_default()).collect();
    let mut defined = BTreeSet::new();
    for parameter in operation.elements_of("parameters")? {
        let name = parameter.need("name")?;
        if parameter.need("in")?.string()? == "path" {
            let is_in_path = in_path.contains(name.string()?);
            ensure(is_in_path, &name, &format!("`{path}` has no parameter with this name"))?;
        }
        ensure(defined.insert(name.string()?), &name, "this parameter is defined twice")?;
    }
    match in_path.difference(&defined).next() {
        Some(name) => Err(operation.fault(format!("the path parameter `{name}` is not defined"))),
        None => Ok(()),
    }
}

/// The callback is the same for every operation that has one, except for its id.
fn check_callbacks(operations: &Operations) -> Result<(), Faults> {
    let mut first: Option<(String, Value)> = None;
    let each = operations.iter().map(|(_, operation)| {
        let Some(callbacks) = operation.get("callbacks") else { return Ok(()) };
        let callback = callbacks.need("notification")?.need(WEBHOOK_URL)?.need("post")?;
        let id = callback.need("operationId")?;
        let expected = format!("{}_notification", operation.need("operationId")?.string()?);
        ensure(id.string()? == expected, &id, &format!("expected `{expected}`"))?;
        let mut value = callback.value.clone();
        value["operationId"] = Value::Null;
        let (pointer, other) = first.get_or_insert_with(|| (callback.pointer(), value.clone()));
        ensure(*other == value, &callback, &format!("this differs from {pointer}"))
    });
    all(each).map(drop)
}

/// Every component is used by an operation, directly or through others.
fn check_components(root: &DocumentNode) -> Result<(), Faults> {
    let mut targets = Vec::new();
    collect_references(&root.need("paths")?, &mut targets)?;
    let components = root.need("components")?;
    let mut unused = Vec::new();
    for group in ["responses", "schemas"] {
        for (_, component) in components.members_of(group)? {
            let is_used = targets.iter().any(|target| target.is(&component));
            unused.push(ensure(is_used, &component, "no operation uses this component"));
        }
    }
    all(unused).map(drop)
}

fn collect_references<'a>(
    place: &DocumentNode<'a>,
    targets: &mut Vec<DocumentNode<'a>>,
) -> Result<(), Faults> {
    match place.value {
        Value::Object(_) => {
            if place.value["$ref"].is_string()
                && let Some(target) = place.referred()?
                && !targets.iter().any(|known| known.is(&target))
            {
                targets.push(target);
                collect_references(&target, targets)?;
            }
            place.members()?.iter().try_for_each(|(_, member)| collect_references(member, targets))
        }
        Value::Array(_) => {
            place.elements()?.iter().try_for_each(|item| collect_references(item, targets))
        }
        _ => Ok(()),
    }
}

fn ensure(holds: bool, place: &DocumentNode, otherwise: &str) -> Result<(), Faults> {
    if holds { Ok(()) } else { Err(place.fault(otherwise)) }
}
