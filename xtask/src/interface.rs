//! Compares the document with independently transcribed lists of the interface.
//!
//! The lists were copied by hand from the interface listing. A row names an operation, a field or a
//! response, and then its facts, which are the keywords of the document without `x-`. The
//! comparison works in both directions, so it finds forgotten facts and invented ones. If the two
//! disagree, read the interface again before changing either.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use serde_json::Value;

use crate::{
    contract::{DocumentNode, Faults, METHODS},
    repository,
};

/// The folder of the lists in the repository.
pub const FOLDER: &str = "xtask/interface";

/// The lists. The rows of the last one are JSON pointers, each with the value there.
const LISTS: [&str; 4] = ["operations.tsv", "fields.tsv", "responses.tsv", "service.tsv"];

/// Keywords that are not facts of the interface, such as texts, or whose parts have their own rows.
const OTHERS: &str = "\
    $ref additionalProperties allOf callbacks description example items operationId properties \
    required requestBody responses summary tags why x-correction x-not-shown";

fn is_fact(keyword: &str) -> bool {
    OTHERS.split(' ').all(|other| other != keyword)
}

/// The facts by place, each with the value of the document that has it. A fact without text is that
/// the place exists.
type Facts<'a> = BTreeMap<(String, String), DocumentNode<'a>>;

/// The facts of the lists, by place.
pub struct Lists(BTreeSet<(String, String)>);

impl Lists {
    /// Reads the lists of the repository.
    pub fn read() -> Result<Self> {
        Self::read_with(|name| repository::read(&format!("{FOLDER}/{name}")))
    }

    /// Reads each list with `read`, which gets the name of its file.
    pub fn read_with(read: impl Fn(&str) -> Result<String>) -> Result<Self> {
        let mut facts = BTreeSet::new();
        for name in LISTS {
            for row in read(name)?.lines() {
                let (place, row) = row.split_once('\t').unwrap_or((row, ""));
                let row = row.split('\t').chain([""]);
                facts.extend(row.map(|fact| (place.to_owned(), fact.to_owned())));
            }
        }
        Ok(Self(facts))
    }
}

/// Returns every difference between the lists and a document from which code can be generated, one
/// per line, each with a JSON pointer.
pub fn compare(Lists(listed): &Lists, document: &Value) -> Result<Vec<String>, Faults> {
    let mut reader = Reader::default();
    reader.read(&DocumentNode::root(document), listed)?;
    let Reader { facts, objects } = reader;
    let line = |pointer: String, place: &str, fact: &str, one: &str, other: &str| {
        let fact = if fact.is_empty() { String::new() } else { format!(" `{fact}`") };
        format!("{pointer}: {place}:{fact} is in the {one}, not in the {other}")
    };
    let mut found = Vec::new();
    for (place, fact) in listed.iter().filter(|known| !facts.contains_key(*known)) {
        let keyword = |fact: &str| fact.split('=').next().map(str::to_owned);
        let of_place = facts.iter().filter(|((other, _), _)| other == place);
        // The best pointer is that of a fact with the same keyword, or else of the place itself.
        let best = of_place
            .max_by_key(|((_, other), _)| (keyword(other) == keyword(fact), other.is_empty()));
        let pointer = match best {
            Some((_, node)) => node.pointer(),
            None if fact.is_empty() => holder(place, &objects),
            // The fact is missing with its place, which is reported.
            None => continue,
        };
        found.push(line(pointer, place, fact, "lists", "document"));
    }
    for ((place, fact), node) in facts.iter().filter(|(fact, _)| !listed.contains(fact)) {
        let is_known = fact.is_empty() || listed.contains(&(place.clone(), String::new()));
        found.extend(is_known.then(|| line(node.pointer(), place, fact, "document", "lists")));
    }
    Ok(found)
}

/// Returns the JSON pointer to the object that lacks the place.
fn holder(place: &str, objects: &BTreeMap<String, DocumentNode>) -> String {
    let owners = objects.iter().filter(|(owner, _)| place.starts_with(owner.as_str()));
    match owners.max_by_key(|(owner, _)| owner.len()) {
        Some((_, owner)) => owner.pointer(),
        None if place.starts_with('/') && !place.contains(' ') => place.to_owned(),
        None if place.contains(" /") => "/paths".to_owned(),
        None => "/components".to_owned(),
    }
}

/// Reads the facts of a document.
#[derive(Default)]
struct Reader<'a> {
    facts: Facts<'a>,
    /// The objects with fields, by the start of the places of these.
    objects: BTreeMap<String, DocumentNode<'a>>,
}

impl<'a> Reader<'a> {
    fn read(
        &mut self,
        root: &DocumentNode<'a>,
        listed: &BTreeSet<(String, String)>,
    ) -> Result<(), Faults> {
        let mut kinds = BTreeSet::new();
        for (path, item) in root.members_of("paths")? {
            for method in METHODS {
                let Some(operation) = item.get(method) else { continue };
                let place = format!("{} {path}", method.to_uppercase());
                self.operation(&place, &operation)?;
                // The first model of a kind is the default of its command.
                let kind =
                    operation.get("x-kind").filter(|_| operation.value["deprecated"] != true);
                if let Some(kind) = kind.filter(|kind| kinds.insert(kind.value.as_str())) {
                    self.add(&place, "first-of-kind=true", &kind);
                }
                if let Some(schema) = json_schema(operation.get("requestBody")) {
                    let open = flattened(&schema)?.get("additionalProperties").copied();
                    open.iter()
                        .for_each(|open| self.add(&place, "additionalProperties=true", open));
                    self.fields(&format!("{path} "), &schema)?;
                }
            }
        }
        for (name, response) in root.need("components")?.members_of("responses")? {
            self.add(name, "", &response);
            self.response(name, &response)?;
        }
        for (pointer, _) in listed.iter().filter(|(place, _)| place.starts_with('/')) {
            if let Some(node) = root.at(pointer) {
                self.add(pointer, "", &node);
                self.add(pointer, &node.value.to_string(), &node);
            }
        }
        Ok(())
    }

    fn add(&mut self, place: &str, fact: &str, node: &DocumentNode<'a>) {
        self.facts.insert((place.to_owned(), fact.to_owned()), *node);
    }

    /// Adds a fact for each keyword, or for each element of its list.
    fn keywords(&mut self, place: &str, keywords: &Keywords<'a>) {
        // The bounds of a format are not facts of the interface.
        let is_whole = keywords.get("format").is_some_and(|format| format.value == "int64");
        let is_range =
            |keyword: &str| is_whole && ["format", "maximum", "minimum"].contains(&keyword);
        for (keyword, node) in keywords {
            if !is_fact(keyword) || is_range(keyword) {
                continue;
            }
            let name = keyword.strip_prefix("x-").unwrap_or(keyword);
            let values =
                node.value.as_array().map_or(std::slice::from_ref(node.value), Vec::as_slice);
            // An `enum` has null if the field may be null.
            for value in values.iter().filter(|value| !value.is_null()) {
                self.add(place, &format!("{name}={}", text(value)), node);
            }
        }
    }

    fn operation(&mut self, place: &str, operation: &DocumentNode<'a>) -> Result<(), Faults> {
        self.add(place, "", operation);
        self.keywords(place, &operation.members()?.into_iter().collect());
        for (status, response) in operation.members_of("responses")? {
            match response.get("$ref") {
                Some(_) => self.add(place, &format!("{status}={}", name_of(&response)), &response),
                None => {
                    self.add(place, status, &response);
                    self.response(place, &response)?;
                }
            }
        }
        Ok(())
    }

    /// Adds the schemas of a response, and their fields.
    fn response(&mut self, place: &str, response: &DocumentNode<'a>) -> Result<(), Faults> {
        let Some(schema) = json_schema(Some(*response)) else { return Ok(()) };
        self.add(place, "content=application/json", response);
        let target = schema.resolved()?;
        let (node, schemas) = match target.elements_of("oneOf")? {
            none if none.is_empty() => (schema, vec![schema]),
            alternatives => (target, alternatives),
        };
        for schema in schemas {
            self.add(place, &format!("schema={}", name_of(&schema)), &node);
            self.fields(&format!("{} ", name_of(&schema)), &schema)?;
        }
        Ok(())
    }

    /// Adds the fields of an object, whose places start with `start`.
    fn fields(&mut self, start: &str, object: &DocumentNode<'a>) -> Result<(), Faults> {
        let object = object.resolved()?;
        object.must_not_recur()?;
        self.objects.insert(start.to_owned(), object);
        for part in object.elements_of("allOf")? {
            self.fields(start, &part)?;
        }
        let required = object.elements_of("required")?;
        for (name, field) in object.members_of("properties")? {
            let place = format!("{start}{name}");
            if required.iter().any(|other| other.value == name) {
                self.add(&place, "required=true", &field);
            }
            self.value(&place, &field)?;
        }
        Ok(())
    }

    /// Adds a value, with its fields or its items.
    fn value(&mut self, place: &str, value: &DocumentNode<'a>) -> Result<(), Faults> {
        let keywords = flattened(value)?;
        self.add(place, "", value);
        self.keywords(place, &keywords);
        self.fields(&format!("{place}."), value)?;
        keywords.get("items").map_or(Ok(()), |items| self.value(&format!("{place}[]"), items))
    }
}

/// The keywords of a schema, with their values.
type Keywords<'a> = BTreeMap<&'a str, DocumentNode<'a>>;

/// Merges a schema with the schemas that it refers to (`$ref`, `allOf`). Its own keywords take
/// precedence.
fn flattened<'a>(schema: &DocumentNode<'a>) -> Result<Keywords<'a>, Faults> {
    schema.must_not_recur()?;
    let mut keywords: Keywords = schema.members()?.into_iter().collect();
    for part in schema.elements_of("allOf")?.into_iter().chain(schema.referred()?) {
        for (keyword, value) in flattened(&part)? {
            keywords.entry(keyword).or_insert(value);
        }
    }
    Ok(keywords)
}

/// The schema of a body in JSON.
fn json_schema<'a>(body: Option<DocumentNode<'a>>) -> Option<DocumentNode<'a>> {
    body?.get("content")?.get("application/json")?.get("schema")
}

/// The name of the component that this refers to.
fn name_of(reference: &DocumentNode) -> String {
    let path = reference.value["$ref"].as_str().unwrap_or("not-shown");
    path.rsplit('/').next().unwrap_or(path).to_owned()
}

/// Formats a value, so that `5` and `5.0` are equal. An object is JSON without its texts.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.as_f64().unwrap_or_default().to_string(),
        Value::Object(members) => {
            let members = members.iter().filter(|(keyword, _)| is_fact(keyword));
            let members = members.map(|(keyword, value)| (keyword.clone(), value.clone()));
            Value::Object(members.collect()).to_string()
        }
        other => other.to_string(),
    }
}
