//! Generates `docs/corrections.md`: the conflicts between the service's listings, the gaps of the
//! contract, and what the contract assumes, as the document records them.

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
    /// What a request needs although its fields are optional, and the ranges of integers.
    assumptions: BTreeMap<String, Vec<String>>,
}

impl Found {
    fn walk(&mut self, value: &Value, path: &mut Vec<String>) {
        let list = |keyword: &str| value[keyword].as_array().into_iter().flatten();
        for correction in list("x-correction") {
            let entry = ["about", "chosen"].map(|key| text(&correction[key]));
            self.corrections.entry(entry).or_default().push(place(path));
        }
        for gap in list("x-not-shown") {
            self.not_shown.entry(text(gap)).or_default().push(place(path));
        }
        let integer = (value["format"] == "int64").then(|| INT64.to_owned());
        for assumption in list("x-needs").map(need).chain(integer) {
            self.assumptions.entry(assumption).or_default().push(place(path));
        }
        match value {
            Value::Object(members) => members.iter().for_each(|(name, member)| {
                path.push(name.clone());
                self.walk(member, path);
                path.pop();
            }),
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
        page += "\n## Assumptions\n\nThe interface does not say this, and the service may decide \
                 otherwise. Strict simulators require\nwhat a request needs.\n\n\
                 | where | what |\n|---|---|\n";
        for (assumption, places) in &self.assumptions {
            page += &format!("| {} | {assumption} |\n", shortened(places));
        }
        page
    }
}

const INT64: &str = "An integer without a bound has 64 bits";

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// What a request needs, and why.
fn need(need: &Value) -> String {
    let fields = need["any-of"].as_array().into_iter().flatten();
    let fields: Vec<_> = fields.map(|name| format!("`{}`", text(name))).collect();
    let what = match need["images"].as_u64() {
        Some(1) => "an image".to_owned(),
        Some(count) => format!("{count} images"),
        None => fields.join(" or "),
    };
    let unless = need["unless-alpha-in"].as_str();
    let unless = unless.map(|image| format!(", unless `{image}` has an alpha channel"));
    format!("A request needs {what}{}: {}", unless.unwrap_or_default(), text(&need["why"]))
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
