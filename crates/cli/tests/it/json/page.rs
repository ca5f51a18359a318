//! The page about JSON with its declarations, and the comparison of printed values with them.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use serde_json::{Map, Value};

/// The page, and what was printed so far.
pub struct Page {
    /// The interfaces of what each command prints.
    pub commands: BTreeMap<String, Vec<String>>,
    /// The interface of each event.
    pub events: BTreeMap<String, Vec<String>>,
    /// The members of each interface.
    interfaces: BTreeMap<String, Vec<Member>>,
    /// The interfaces and the members that were printed with a value.
    printed: RefCell<BTreeSet<(String, String)>>,
    /// The differences.
    problems: RefCell<BTreeSet<String>>,
}

#[derive(Clone)]
struct Member {
    name: String,
    kind: String,
    is_optional: bool,
}

impl Page {
    pub fn read() -> Self {
        let text = imagekiln_testbed::page("docs/json.md");
        let interfaces = interfaces(imagekiln_testbed::page("docs/kiln.d.ts"));
        let mut commands = BTreeMap::new();
        let mut events = BTreeMap::new();
        let mut section = "";
        for line in text.lines() {
            section = line.strip_prefix("## ").unwrap_or(section);
            let Some(row) = line.strip_prefix("| `") else { continue };
            let (names, rest) = row.split_once(" | ").unwrap();
            for name in names.split(", ").map(|name| name.replace('`', "")) {
                if section == "Commands" {
                    let printed = rest.split('`').skip(1).step_by(2).map(str::to_owned);
                    let printed = printed.filter(|name| name.starts_with(char::is_uppercase));
                    commands.insert(name, printed.collect());
                } else {
                    assert_eq!(section, "Events", "an unknown table: {line}");
                    let literal = format!("\"{name}\"");
                    let is_it = |member: &Member| {
                        member.name == "event" && alternatives(&member.kind).any(|it| it == literal)
                    };
                    let described =
                        interfaces.iter().filter(|(_, members)| members.iter().any(is_it));
                    events.insert(name, described.map(|(name, _)| name.clone()).collect());
                }
            }
        }
        let (printed, problems) = Default::default();
        Self { commands, events, interfaces, printed, problems }
    }

    /// Compares an object with the interfaces, one of which must describe it.
    pub fn check(&self, interfaces: &[String], value: &Value) {
        let mut problems = vec![format!("none of these describes {value:.200}")];
        for name in interfaces {
            let mut printed = Vec::new();
            match self.object(name, value, &mut printed) {
                Ok(()) => return self.printed.borrow_mut().extend(printed),
                Err(problem) => problems.push(format!("{name}: {problem}")),
            }
        }
        self.problems.borrow_mut().insert(problems.join("\n  "));
    }

    fn object(
        &self,
        interface: &str,
        value: &Value,
        printed: &mut Vec<(String, String)>,
    ) -> Result<(), String> {
        let object = value.as_object().ok_or_else(|| format!("{value} is not an object"))?;
        let members = self.interfaces.get(interface);
        let members = members.ok_or_else(|| format!("unknown type {interface}"))?;
        let is_known = |name: &&String| members.iter().any(|member| member.name == **name);
        if let Some(unknown) = object.keys().find(|name| !is_known(name)) {
            return Err(format!("{interface} has no `{unknown}` in docs/kiln.d.ts"));
        }
        for Member { name, kind, is_optional } in members {
            let Some(value) = object.get(name) else {
                if *is_optional {
                    continue;
                }
                return Err(format!("{interface} was printed without `{name}`"));
            };
            self.value(kind, value, printed)
                .map_err(|why| format!("{interface}: {name}: {why}"))?;
            if !value.is_null() {
                printed.push((interface.to_owned(), name.clone()));
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
        let mut problems = Vec::new();
        for kind in alternatives(kind) {
            match self.alternative(kind, value, printed) {
                Ok(()) => return Ok(()),
                Err(problem) => problems.push(problem),
            }
        }
        Err(problems.join("; "))
    }

    fn alternative(
        &self,
        kind: &str,
        value: &Value,
        printed: &mut Vec<(String, String)>,
    ) -> Result<(), String> {
        if let Some(kind) = kind.strip_suffix("[]") {
            let items = value.as_array().ok_or_else(|| format!("{value} is not an array"))?;
            return items.iter().try_for_each(|item| self.value(kind, item, printed));
        }
        if let Some(kind) = kind.strip_prefix("Record<string, ") {
            let kind = kind.strip_suffix('>').unwrap();
            let members: &Map<String, Value> =
                value.as_object().ok_or_else(|| format!("{value} is not an object"))?;
            return members.values().try_for_each(|member| self.value(kind, member, printed));
        }
        let is_it = match kind {
            "unknown" => true,
            "null" => value.is_null(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "int" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            name if name.starts_with(char::is_uppercase) => {
                return self.object(name, value, printed);
            }
            literal => serde_json::from_str::<Value>(literal)
                .map_err(|_| format!("unknown type {literal}"))?
                .eq(value),
        };
        if is_it { Ok(()) } else { Err(format!("{value} is not of the type {kind}")) }
    }

    /// The differences, and the members that were never printed with a value, except `allowed`.
    pub fn problems(self, allowed: &[&str]) -> Vec<String> {
        let Self { interfaces, printed, problems, .. } = self;
        let printed = printed.into_inner();
        let members = interfaces.iter().filter(|(name, _)| *name != BASE);
        let members = members.flat_map(|(name, members)| {
            members.iter().map(move |member| (name.clone(), member.name.clone()))
        });
        let missing = members.filter(|member| !printed.contains(member));
        let missing = missing.map(|(interface, name)| format!("{interface}: {name}"));
        let missing = missing.filter(|missing| !allowed.contains(&missing.as_str()));
        let missing = missing.map(|missing| format!("{missing} was never printed"));
        problems.into_inner().into_iter().chain(missing).collect()
    }
}

/// No command prints this one, which others extend.
const BASE: &str = "Counts";

fn alternatives(kind: &str) -> impl Iterator<Item = &str> {
    kind.split(" | ")
}

/// Reads the interfaces of a file in TypeScript.
fn interfaces(file: &str) -> BTreeMap<String, Vec<Member>> {
    let mut interfaces: BTreeMap<String, Vec<Member>> = BTreeMap::new();
    let (_, declarations) = file.split_once("\nexport type int = number\n").unwrap();
    let lines: Vec<_> =
        declarations.lines().map(|line| line.split("//").next().unwrap().trim_end()).collect();
    // A long type continues on the next line.
    let code = lines.join("\n").replace("\n    | ", " | ");
    let mut declarations = code.split("export interface ");
    assert_eq!(declarations.next().unwrap().trim(), "");
    for declaration in declarations {
        let (head, rest) = declaration.split_once('{').unwrap();
        let (body, after) = rest.split_once('}').unwrap();
        assert_eq!(after.trim(), "", "after {head}");
        let (name, base) = head.trim().split_once(" extends ").unwrap_or((head.trim(), ""));
        let mut members = interfaces.get(base).cloned().unwrap_or_default();
        assert!(base.is_empty() || !members.is_empty(), "{name} extends an unknown {base}");
        for member in body.split([';', '\n']).map(str::trim).filter(|member| !member.is_empty()) {
            let (member, kind) = member.split_once(": ").unwrap();
            let name = member.trim_end_matches('?');
            members.push(Member {
                name: name.to_owned(),
                kind: kind.to_owned(),
                is_optional: member.ends_with('?'),
            });
        }
        let before = interfaces.insert(name.to_owned(), members);
        assert!(before.is_none(), "{name} is declared twice");
    }
    interfaces
}
