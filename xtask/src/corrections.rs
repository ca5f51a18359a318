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

/// The corrections and gaps that the document records, with their locations. A correction can have
/// many.
#[derive(Default)]
struct Found {
    corrections: BTreeMap<[String; 4], Vec<String>>,
    not_shown: BTreeMap<String, Vec<String>>,
}

impl Found {
    fn walk(&mut self, value: &Value, path: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                for correction in
                    members.get("x-correction").and_then(Value::as_array).into_iter().flatten()
                {
                    let text = |key: &str| correction[key].as_str().unwrap_or_default().to_owned();
                    let listings: Vec<&str> = correction["listings"]
                        .as_array()
                        .into_iter()
                        .flatten()
                        .filter_map(Value::as_str)
                        .collect();
                    let entry = [text("about"), listings.join("; "), text("chosen"), text("why")];
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
             The service's listings conflict in places, and leave much open. The contract chooses \
             one side of\neach conflict and records it (`x-correction`). What the listings do not \
             show stays open\n(`x-not-shown`).\n\n\
             ## Conflicts between listings\n",
        );
        for ([about, listings, chosen, why], places) in &self.corrections {
            page += &format!(
                concat!(
                    "\n### {}\n\n- The listings: {}.\n- The contract: {}.\n- Why: {}\n",
                    "- At: {}\n",
                ),
                capitalized(about),
                listings,
                chosen,
                why,
                places.join(", ")
            );
        }
        page += "\n## Gaps\n\n| what | where |\n|---|---|\n";
        for (gap, places) in &self.not_shown {
            page += &format!("| {gap} | {} |\n", places.join(", "));
        }
        page
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
