//! The mutations of a document.

use std::fmt;

use serde_json::{Map, Value};

use crate::contract::joined;

#[derive(Clone, Copy, PartialEq)]
pub enum Action {
    Remove,
    Misspell,
    Duplicate,
    Change,
    WrongType,
    Add,
}

/// One change of the document.
pub struct Mutation {
    pub action: Action,
    /// The pointer to the changed value, after the change.
    pub pointer: String,
    /// The pointer to the object or list that contains it.
    holder: String,
    /// Its key or index there, before the change.
    key: String,
    /// Its new value, if it has one.
    value: Option<Value>,
    /// The targets of a reference before and after the change.
    targets: Vec<String>,
    /// The names that a report may use for it.
    names: Vec<String>,
}

impl Mutation {
    /// The keyword or name that is changed, or the list whose element is.
    pub fn keyword(&self) -> &str {
        if self.is_element() {
            self.holder.rsplit('/').next().unwrap_or_default()
        } else {
            &self.key
        }
    }

    /// Whether the report names the changed value: by a pointer into the object that has it, to the
    /// parent of that object, or by its name.
    pub fn is_named_by(&self, problem: &str) -> bool {
        let pointers = problem.split([' ', '`']).map(|word| word.trim_end_matches(':'));
        let pointers = pointers.map(|word| word.trim_start_matches('#'));
        let mut pointers = pointers.filter(|word| word.starts_with('/'));
        pointers.any(|pointer| self.is_at(pointer))
            || self.names.iter().any(|name| problem.contains(&format!("`{name}`")))
    }

    fn is_at(&self, pointer: &str) -> bool {
        /// Pointers with fewer steps lead to something that is too large to search.
        const NARROW: usize = 3;
        let is_narrow = |pointer: &str| pointer.matches('/').count() >= NARROW;
        let subject = self.subject();
        pointer.starts_with(&self.pointer)
            || pointer == self.holder
            || pointer == subject
            || (is_narrow(subject) && pointer.starts_with(subject))
            || (is_narrow(pointer) && self.pointer.starts_with(pointer))
            || (self.is_element() && pointer.starts_with(&self.holder))
            || self.targets.iter().any(|target| pointer.starts_with(target))
    }

    fn is_element(&self) -> bool {
        self.key.parse::<usize>().is_ok()
    }

    /// The pointer to the object that has the changed value, without lists and objects by name.
    fn subject(&self) -> &str {
        const PARTS: [&str; 5] = ["properties", "required", "parameters", "responses", "servers"];
        let is_index = |step: &str| step.parse::<usize>().is_ok();
        match self.holder.rsplit_once('/') {
            Some((owner, part)) if PARTS.contains(&part) || self.is_element() => owner,
            // The holder is an element of a list.
            Some((list, part)) if is_index(part) => {
                list.rsplit_once('/').map_or(list, |(owner, _)| owner)
            }
            _ => &self.holder,
        }
    }

    /// The kind of the mutation: the action, and the keywords on the way.
    pub fn kind(&self) -> String {
        let mut kind = self.action.to_string();
        let mut previous = "";
        for step in self.pointer.split('/') {
            let is_index = step.parse::<usize>().is_ok();
            let is_name = is_index || HOLDERS_OF_NAMES.contains(&previous);
            kind.extend(["/", if is_name { "*" } else { step }]);
            previous = step;
        }
        kind
    }

    /// Returns what `examine` finds in the mutated document. The document stays as it is. A key
    /// that occurs twice is only in the text of the document, because a value can't have it.
    pub fn examine<Found>(
        &self,
        document: &mut Value,
        examine: impl FnOnce(&Value, Option<String>) -> Found,
    ) -> Found {
        let holder = document.pointer_mut(&self.holder).expect("an object or a list");
        let before = holder.clone();
        let text = match holder {
            Value::Object(object) if self.action == Action::Duplicate => {
                let member = Map::from_iter([(self.key.clone(), object[&self.key].clone())]);
                Some(with_member(document, &self.holder, member))
            }
            Value::Object(object) => {
                self.apply_to_object(object);
                None
            }
            Value::Array(list) => {
                self.apply_to_list(list);
                None
            }
            _ => unreachable!("{} is an object or a list", self.holder),
        };
        let found = examine(document, text);
        *document.pointer_mut(&self.holder).expect("an object or a list") = before;
        found
    }

    fn apply_to_object(&self, object: &mut Map<String, Value>) {
        match (&self.value, self.action) {
            (Some(value), _) => {
                object.insert(self.key.clone(), value.clone());
            }
            (None, Action::Misspell) => {
                let members = std::mem::take(object).into_iter();
                let renamed = |name: String| if name == self.key { misspelt(&name) } else { name };
                *object = members.map(|(name, value)| (renamed(name), value)).collect();
            }
            (None, _) => {
                object.shift_remove(&self.key);
            }
        }
    }

    fn apply_to_list(&self, list: &mut Vec<Value>) {
        let index: usize = self.key.parse().expect("an index");
        match (&self.value, self.action) {
            (Some(value), _) => list[index] = value.clone(),
            (None, Action::Duplicate) => list.push(list[index].clone()),
            (None, _) => {
                list.remove(index);
            }
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Remove => "remove",
            Self::Misspell => "misspell",
            Self::Duplicate => "duplicate",
            Self::Change => "change",
            Self::WrongType => "give another type to",
            Self::Add => "add",
        })
    }
}

fn misspelt(name: &str) -> String {
    format!("{name}s")
}

/// Returns the text of a document with a further member in the object at `holder`.
fn with_member(document: &mut Value, holder: &str, member: Map<String, Value>) -> String {
    const MARK: &str = "the member to repeat";
    let object = document.pointer_mut(holder).and_then(Value::as_object_mut);
    object.expect("the object exists").insert(MARK.into(), Value::Null);
    let member = Value::Object(member).to_string();
    document.to_string().replace(&format!("\"{MARK}\":null"), &member[1..member.len() - 1])
}

/// Returns all mutations.
pub fn all(document: &Value) -> Vec<Mutation> {
    let mut walk = Walk { document, found: Vec::new(), seen: Vec::new() };
    walk.visit(document, "");
    walk.found
}

/// The keywords of objects whose keys are names.
const HOLDERS_OF_NAMES: [&str; 5] = ["paths", "schemas", "properties", "responses", "content"];

/// Objects whose keys are names, which a report may use.
const NAMED: [&str; 4] = ["/properties", "/securitySchemes", "/tags", "/parameters"];

struct Walk<'a> {
    document: &'a Value,
    found: Vec<Mutation>,
    /// Values by key that were visited. Many fields, for example, are the same for many operations,
    /// and the parts of one of them are mutated.
    seen: Vec<(String, &'a Value)>,
}

impl<'a> Walk<'a> {
    fn visit(&mut self, value: &'a Value, pointer: &str) {
        let children: Vec<(String, &Value)> = match value {
            Value::Object(members) => {
                members.iter().map(|(key, member)| (key.clone(), member)).collect()
            }
            Value::Array(list) => {
                list.iter().enumerate().map(|(index, item)| (index.to_string(), item)).collect()
            }
            _ => return,
        };
        // A keyword of a component would be reported where an operation uses it.
        let holders = HOLDERS_OF_NAMES.iter().filter(|holder| **holder != "schemas");
        if holders.into_iter().any(|holder| pointer.ends_with(&format!("/{holder}"))) {
            self.add_keywords(value, pointer);
        }
        for (key, child) in children {
            self.mutate(&key, child, pointer, value.is_object());
            let visited = (key.clone(), child);
            if self.seen.contains(&visited) {
                continue;
            }
            self.seen.push(visited);
            // The body of an example is not a part of the document's structure.
            if key != "example" {
                self.visit(child, &joined(pointer, &key));
            }
        }
    }

    /// Adds to each object in `holder` the keywords that only others in it have.
    fn add_keywords(&mut self, objects: &'a Value, holder: &str) {
        let objects = || objects.as_object().into_iter().flatten();
        let keywords =
            || objects().flat_map(|(_, object)| object.as_object().into_iter().flatten());
        for (name, object) in objects() {
            let mut added = Vec::new();
            for (keyword, value) in keywords() {
                // A field without a type may become one with another's type.
                if object.is_object()
                    && object.get(keyword).is_none()
                    && !added.contains(&keyword)
                    && keyword != "allOf"
                {
                    added.push(keyword);
                    self.found.push(Mutation {
                        action: Action::Add,
                        pointer: joined(&joined(holder, name), keyword),
                        holder: joined(holder, name),
                        key: keyword.clone(),
                        targets: Vec::new(),
                        value: Some(value.clone()),
                        names: names(keyword, value, &joined(holder, name)),
                    });
                }
            }
        }
    }

    fn mutate(&mut self, key: &str, value: &Value, holder: &str, is_member: bool) {
        let pointer = joined(holder, key);
        let names = names(key, value, holder);
        let mut add = |action: Action, pointer: String, change: Option<Value>| {
            let after = change.as_ref();
            let references = [Some(value), after].into_iter().flatten().filter(|_| key == "$ref");
            let targets = references.filter_map(|target| target.as_str()?.strip_prefix('#'));
            self.found.push(Mutation {
                action,
                pointer,
                holder: holder.to_owned(),
                key: key.to_owned(),
                targets: targets.map(str::to_owned).collect(),
                value: change,
                names: names.clone(),
            });
        };
        add(Action::Remove, pointer.clone(), None);
        add(Action::Duplicate, pointer.clone(), None);
        if is_member {
            add(Action::Misspell, joined(holder, &misspelt(key)), None);
        }
        add(Action::WrongType, pointer.clone(), Some(of_another_type(value)));
        for value in changed(self.document, key, value) {
            add(Action::Change, pointer.clone(), Some(value));
        }
    }
}

/// The names that a report may use for a value, apart from the pointer to it.
fn names(key: &str, value: &Value, holder: &str) -> Vec<String> {
    let has_names = |holder: &str| NAMED.iter().any(|kind| holder.ends_with(kind));
    let mut names = Vec::new();
    // A parameter and a tag have names, and an operation has an id.
    let parts = value.as_array().into_iter().flatten().chain([value]);
    names.extend(parts.filter_map(|part| part["name"].as_str().map(str::to_owned)));
    if ["name", "operationId"].contains(&key) {
        names.extend(value.as_str().map(str::to_owned));
    }
    if holder.is_empty() || has_names(holder) {
        names.push(key.to_owned());
    }
    if let Some((owner, name)) = holder.rsplit_once('/').filter(|(owner, _)| has_names(owner)) {
        names.extend([name.to_owned(), format!("#{owner}/{name}")]);
    }
    names
}

fn of_another_type(value: &Value) -> Value {
    match value {
        Value::String(_) => Value::from(7),
        Value::Array(_) => Value::Object(Map::new()),
        Value::Object(_) => Value::Array(Vec::new()),
        _ => "7".into(),
    }
}

/// Other values of the same type. Objects and lists are changed in their parts.
fn changed(document: &Value, key: &str, value: &Value) -> Vec<Value> {
    match value {
        Value::String(text) if key == "$ref" => {
            let other = another_reference(document, text);
            std::iter::once(misspelt(text).into()).chain(other).collect()
        }
        Value::String(text) => vec![misspelt(text).into()],
        Value::Bool(flag) => vec![(!flag).into()],
        Value::Number(number) => match number.as_i64() {
            Some(number) => {
                let others = [number.checked_add(1), number.checked_sub(1)];
                others.into_iter().flatten().map(Value::from).collect()
            }
            None => number.as_f64().map(|number| (number + 0.5).into()).into_iter().collect(),
        },
        _ => Vec::new(),
    }
}

/// Returns a reference to the next component of the same group.
fn another_reference(document: &Value, text: &str) -> Option<Value> {
    let (group, name) = text.rsplit_once('/')?;
    let group_of = document.pointer(group.strip_prefix('#')?)?.as_object()?;
    let names: Vec<&String> = group_of.keys().collect();
    let at = names.iter().position(|known| *known == name)?;
    Some(format!("{group}/{}", names[(at + 1) % names.len()]).into())
}
