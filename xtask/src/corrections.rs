//! Generates `docs/corrections.md`: the conflicts between the service's listings, and the gaps of
//! the contract, as the document records them.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::contract::capitalized;

/// The path of the page in the repository.
pub const PATH: &str = "docs/corrections.md";

/// The page for a document.
pub fn page(document: &Value) -> String {
    let mut found = Found::default();
    found.walk(document, &mut Vec::new());
    found.page()
}

/// The corrections and gaps that the document records, with their locations, of which each can have
/// many. A correction is what it is about, and what was chosen.
#[derive(Default)]
struct Found {
    corrections: BTreeMap<[String; 2], Vec<String>>,
    not_shown: BTreeMap<String, Vec<String>>,
}

impl Found {
    fn walk(&mut self, value: &Value, path: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                for correction in
                    members.get("x-correction").and_then(Value::as_array).into_iter().flatten()
                {
                    let entry = ["about", "chosen"]
                        .map(|key| correction[key].as_str().unwrap_or_default().to_owned());
                    self.corrections.entry(entry).or_default().push(place(path));
                }
                for gap in
                    members.get("x-not-shown").and_then(Value::as_array).into_iter().flatten()
                {
                    let gap = gap.as_str().unwrap_or_default().to_owned();
                    self.not_shown.entry(gap).or_default().push(place(path));
                }
                for (name, member) in members {
                    path.push(name.clone());
                    self.walk(member, path);
                    path.pop();
                }
            }
            Value::Array(elements) => elements.iter().for_each(|element| self.walk(element, path)),
            _ => {}
        }
    }

    fn page(&self) -> String {
        let mut page = String::from(
            "# Corrections and gaps\n\n\
             `cargo xtask regenerate` writes this page from `openapi.json`; do not edit it.\n\n\
             The service's listings conflict in places, and leave much open. `x-correction` at \
             each place has what\neach of them says, and the reason for the choice.\n\n\
             ## Conflicts between listings\n\n\
             | about | the contract says | where |\n|---|---|---|\n",
        );
        let mut last = "";
        for ([about, chosen], places) in &self.corrections {
            let shown = if about == last { String::new() } else { capitalized(about) };
            page += &format!("| {shown} | {chosen} | {} |\n", shortened(places));
            last = about;
        }
        page += "\n## Gaps\n\n| where | what |\n|---|---|\n";
        let mut gaps: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (gap, places) in &self.not_shown {
            gaps.entry(places).or_default().push(gap.as_str());
        }
        for (places, gaps) in gaps {
            page += &format!("| {} | {} |\n", shortened(places), gaps.join("; "));
        }
        page
    }
}

/// The first places, and how many others there are.
fn shortened(places: &[String]) -> String {
    match places {
        [first, second, _, _, ..] => format!("{first}, {second} and {} more", places.len() - 2),
        _ => places.join(", "),
    }
}

/// The location on the page of the value at a JSON pointer.
#[cfg(test)]
pub fn place_of_pointer(pointer: &str) -> String {
    let steps = pointer.split('/').skip(1);
    let steps: Vec<String> = steps.map(|step| step.replace("~1", "/").replace("~0", "~")).collect();
    place(&steps)
}

/// A location for readers: the path of the operation, or the schema and field.
fn place(path: &[String]) -> String {
    let steps: Vec<&str> = path.iter().map(String::as_str).collect();
    match steps.as_slice() {
        ["paths", path, ..] => format!("`{path}`"),
        ["components", "schemas", schema, "properties", field, ..] => format!("`{schema}.{field}`"),
        ["components", "schemas", schema, ..] => format!("`{schema}`"),
        _ => "the whole service".to_owned(),
    }
}
