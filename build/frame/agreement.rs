//! Checks that the parts of the document agree: what one part names, another defines.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    super::{
        document::{DocumentNode, METHODS},
        fault::Fault,
    },
    ensure,
    kinds::WEBHOOK_URL,
};

pub fn check(root: &DocumentNode) -> Result<(), Fault> {
    let operations = operations(root)?;
    check_ids(&operations)?;
    check_tags(root, &operations)?;
    check_servers(root, &operations)?;
    check_security(root)?;
    check_migrations(&operations)?;
    for (path, operation) in &operations {
        check_path_parameters(path, operation)?;
    }
    check_links(root, &operations)
}

/// All operations, with their paths.
fn operations<'a>(root: &DocumentNode<'a>) -> Result<Vec<(&'a str, DocumentNode<'a>)>, Fault> {
    let mut operations = Vec::new();
    for (path, item) in root.members_of("paths")? {
        operations.extend(METHODS.iter().filter_map(|method| Some((path, item.get(method)?))));
    }
    Ok(operations)
}

fn check_ids(operations: &[(&str, DocumentNode)]) -> Result<(), Fault> {
    let mut seen = BTreeSet::new();
    for (_, operation) in operations {
        let id = operation.need("operationId")?;
        let text = id.string()?;
        let is_new = seen.insert(text);
        ensure(is_new, &id, &format!("the operationId `{text}` occurs twice"))?;
    }
    Ok(())
}

fn check_tags(root: &DocumentNode, operations: &[(&str, DocumentNode)]) -> Result<(), Fault> {
    let mut used = BTreeSet::new();
    let mut defined = BTreeSet::new();
    for tag in root.elements_of("tags")? {
        let name = tag.need("name")?;
        let is_new = defined.insert(name.string()?);
        ensure(is_new, &name, &format!("the tag `{}` is defined twice", name.string()?))?;
    }
    for (_, operation) in operations {
        for tag in operation.elements_of("tags")? {
            let name = tag.string()?;
            ensure(defined.contains(name), &tag, &format!("the tag `{name}` is not defined"))?;
            used.insert(name);
        }
    }
    for tag in root.elements_of("tags")? {
        let name = tag.need("name")?;
        ensure(used.contains(name.string()?), &name, "no operation has this tag")?;
    }
    Ok(())
}

/// Each region needs one server, and each server's region an operation.
fn check_servers(root: &DocumentNode, operations: &[(&str, DocumentNode)]) -> Result<(), Fault> {
    let mut seen = BTreeSet::new();
    for server in root.elements_of("servers")? {
        let region = server.get("x-region").map(|region| region.string()).transpose()?;
        ensure(seen.insert(region), &server, "another server has the same region")?;
    }
    ensure(seen.contains(&None), &root.need("servers")?, "a server without `x-region` is missing")?;
    for server in root.elements_of("servers")? {
        let Some(region) = server.get("x-region") else { continue };
        let mut regions = operations.iter().filter_map(|(_, operation)| operation.get("x-region"));
        let is_used = regions.any(|used| used.value == region.value);
        ensure(is_used, &region, "no operation is in this region")?;
    }
    for (_, operation) in operations {
        let Some(region) = operation.get("x-region") else { continue };
        let region = region.string()?;
        let message = format!("a server with the region `{region}` is missing");
        ensure(seen.contains(&Some(region)), &root.need("servers")?, &message)?;
    }
    Ok(())
}

fn check_security(root: &DocumentNode) -> Result<(), Fault> {
    let schemes = root.need("components")?.need("securitySchemes")?;
    let mut used = BTreeSet::new();
    for requirement in root.elements_of("security")? {
        for (name, scheme) in requirement.members()? {
            let message = format!("the security scheme `{name}` is not defined");
            ensure(schemes.get(name).is_some(), &scheme, &message)?;
            used.insert(name);
        }
    }
    for (name, scheme) in schemes.members()? {
        ensure(used.contains(name), &scheme, "nothing uses this security scheme")?;
    }
    Ok(())
}

fn check_migrations(operations: &[(&str, DocumentNode)]) -> Result<(), Fault> {
    for (_, operation) in operations {
        for target in operation.elements_of("x-migrate-to")? {
            let id = target.string()?;
            ensure(operation.flag("deprecated")?, &target, "the operation is not deprecated")?;
            let found = find(operations, id)?;
            let found = found.ok_or_else(|| target.fault(format!("`{id}` is not an operation")))?;
            let message = format!("`{id}` is deprecated, too");
            ensure(!found.flag("deprecated")?, &target, &message)?;
        }
    }
    Ok(())
}

fn find<'p, 'a>(
    operations: &'p [(&str, DocumentNode<'a>)],
    id: &str,
) -> Result<Option<&'p DocumentNode<'a>>, Fault> {
    for (_, operation) in operations {
        if operation.need("operationId")?.string()? == id {
            return Ok(Some(operation));
        }
    }
    Ok(None)
}

/// The parameters in the template of the path are those of the operation.
fn check_path_parameters(path: &str, operation: &DocumentNode) -> Result<(), Fault> {
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
pub fn check_callbacks(root: &DocumentNode) -> Result<(), Fault> {
    let mut first: Option<(String, Value)> = None;
    for (_, operation) in operations(root)? {
        let Some(callbacks) = operation.get("callbacks") else { continue };
        let callback = callbacks.need("notification")?.need(WEBHOOK_URL)?.need("post")?;
        let id = callback.need("operationId")?;
        let expected = format!("{}_notification", operation.need("operationId")?.string()?);
        ensure(id.string()? == expected, &id, &format!("expected `{expected}`"))?;
        let mut value = callback.value.clone();
        if let Some(id) = value.get_mut("operationId") {
            *id = Value::Null;
        }
        match &first {
            Some((pointer, other)) if *other != value => {
                return Err(callback.fault(format!("this differs from {pointer}")));
            }
            Some(_) => {}
            None => first = Some((callback.pointer(), value)),
        }
    }
    Ok(())
}

fn check_links(root: &DocumentNode, operations: &[(&str, DocumentNode)]) -> Result<(), Fault> {
    for (_, response) in root.need("components")?.members_of("responses")? {
        for (_, link) in response.members_of("links")? {
            let id = link.need("operationId")?;
            let text = id.string()?;
            let target = find(operations, text)?
                .ok_or_else(|| id.fault(format!("`{text}` is not an operation")))?;
            let mut names = Vec::new();
            for parameter in target.elements_of("parameters")? {
                names.push(parameter.need("name")?.string()?);
            }
            for (name, value) in link.members_of("parameters")? {
                let message = format!("the operation has no parameter `{name}`");
                ensure(names.contains(&name), &value, &message)?;
            }
        }
    }
    Ok(())
}

/// Every component is used by an operation, directly or through others.
pub fn check_components(root: &DocumentNode) -> Result<(), Fault> {
    let mut targets = Vec::new();
    collect_references(&root.need("paths")?, &mut targets)?;
    let components = root.need("components")?;
    for group in ["responses", "schemas"] {
        for (_, component) in components.members_of(group)? {
            let is_used = targets.iter().any(|target| target.is(&component));
            ensure(is_used, &component, "no operation uses this component")?;
        }
    }
    Ok(())
}

fn collect_references<'a>(
    place: &DocumentNode<'a>,
    targets: &mut Vec<DocumentNode<'a>>,
) -> Result<(), Fault> {
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
