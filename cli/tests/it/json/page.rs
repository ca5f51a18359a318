//! The page about JSON, and the comparison of printed values with it.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use serde_json::{Map, Value};

/// The page, and what was printed so far.
pub struct Page {
    /// The anchors of the objects that each command prints.
    pub commands: BTreeMap<String, Vec<String>>,
    /// The anchor of the members of each event.
    pub events: BTreeMap<String, Vec<String>>,
    /// The members of each object by its anchor.
    objects: BTreeMap<String, Vec<Member>>,
    /// The anchors and the members that were printed with a value.
    printed: RefCell<BTreeSet<(String, String)>>,
    /// The differences.
    problems: RefCell<BTreeSet<String>>,
}

struct Member {
    name: String,
    kind: String,
    is_optional: bool,
}

impl Page {
    pub fn read() -> Self {
        let mut page = Self {
            commands: BTreeMap::new(),
            events: BTreeMap::new(),
            objects: BTreeMap::new(),
            printed: RefCell::default(),
            problems: RefCell::default(),
        };
        let mut anchor = String::new();
        for line in imagekiln_testbed::page("docs/json.md").lines() {
            if line.starts_with('#') {
                anchor = line.trim_start_matches(['#', ' ']).to_lowercase().replace(' ', "-");
            }
            let Some(row) = line.strip_prefix("| `") else { continue };
            let (names, rest) = row.split_once(" | ").unwrap();
            let names = names.split(", ").map(|name| name.replace('`', ""));
            match anchor.as_str() {
                "commands" => page.commands.extend(names.map(|name| (name, anchors(rest)))),
                "events" => page.events.extend(names.map(|name| (name, anchors(rest)))),
                "kinds-of-errors" => {}
                _ => {
                    let (kind, _) = rest.split_once(" |").unwrap();
                    let required = kind.strip_suffix(", optional");
                    let member = |name| Member {
                        name,
                        kind: required.unwrap_or(kind).to_owned(),
                        is_optional: required.is_some(),
                    };
                    page.objects.entry(anchor.clone()).or_default().extend(names.map(member));
                }
            }
        }
        page
    }

    /// Compares an object with those that may be printed, one of which it must be.
    pub fn check(&self, anchors: &[String], value: &Value) {
        let mut problems = vec![format!("none of these describes {value:.200}")];
        for anchor in anchors {
            let mut printed = Vec::new();
            match self.object(anchor, value, &mut printed) {
                Ok(()) => return self.printed.borrow_mut().extend(printed),
                Err(problem) => problems.push(format!("{anchor}: {problem}")),
            }
        }
        self.problems.borrow_mut().insert(problems.join("\n  "));
    }

    fn object(
        &self,
        anchor: &str,
        value: &Value,
        printed: &mut Vec<(String, String)>,
    ) -> Result<(), String> {
        let object = value.as_object().ok_or_else(|| format!("{value} is not an object"))?;
        let members = self.objects.get(anchor).ok_or_else(|| format!("no section {anchor}"))?;
        let is_known = |name: &&String| members.iter().any(|member| member.name == **name);
        if let Some(unknown) = object.keys().find(|name| !is_known(name)) {
            return Err(format!("`{unknown}` is not in the section {anchor}"));
        }
        for Member { name, kind, is_optional } in members {
            let Some(value) = object.get(name) else {
                if *is_optional {
                    continue;
                }
                return Err(format!("{anchor} has no `{name}`"));
            };
            self.value(kind, value, printed).map_err(|why| format!("{anchor}: {name}: {why}"))?;
            if !value.is_null() {
                printed.push((anchor.to_owned(), name.clone()));
            }
        }
        Ok(())
    }

    fn value(
        &self,
        kind: &str,
        value: &Value,
        printed: &mut Vec<(String, String)>,
    ) -> Result<(), String> {
        if let Some(kind) = kind.strip_suffix(" or null") {
            return if value.is_null() { Ok(()) } else { self.value(kind, value, printed) };
        }
        if let Some(kind) = kind.strip_prefix("array of ") {
            let items = value.as_array().ok_or_else(|| format!("{value} is not an array"))?;
            return items.iter().try_for_each(|item| self.value(kind, item, printed));
        }
        if let Some(kind) = kind.strip_prefix("map of ") {
            let members: &Map<String, Value> =
                value.as_object().ok_or_else(|| format!("{value} is not an object"))?;
            return members.values().try_for_each(|member| self.value(kind, member, printed));
        }
        let is_it = match kind {
            "any" => true,
            "text" => value.is_string(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            link => {
                let anchors = anchors(link);
                let [anchor] = &anchors[..] else { return Err(format!("unknown type {kind}")) };
                return self.object(anchor, value, printed);
            }
        };
        if is_it { Ok(()) } else { Err(format!("{value} is not of the type {kind}")) }
    }

    /// The differences, and the members that were never printed with a value, except `allowed`.
    pub fn problems(self, allowed: &[&str]) -> Vec<String> {
        let Self { objects, printed, problems, .. } = self;
        let printed = printed.into_inner();
        let members = objects.iter().flat_map(|(anchor, members)| {
            members.iter().map(move |member| (anchor.clone(), member.name.clone()))
        });
        let missing = members.filter(|member| !printed.contains(member));
        let missing = missing.map(|(anchor, name)| format!("{anchor}: {name}"));
        let missing = missing.filter(|missing| !allowed.contains(&missing.as_str()));
        let missing = missing.map(|missing| format!("{missing} was never printed"));
        problems.into_inner().into_iter().chain(missing).collect()
    }
}

/// The sections of this page to which a text links.
fn anchors(text: &str) -> Vec<String> {
    let links = text.split("](#").skip(1);
    links.map(|link| link.split(')').next().unwrap().to_owned()).collect()
}
