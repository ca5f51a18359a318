//! The outline of the generated code: types with their fields and constructors, and the table of
//! operations with every limit. It shows how a change of the contract affects users of the crate.
//! The texts of the document follow, so that no change of it is unseen.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use quote::ToTokens;
use serde_json::Value;
use syn::{
    Expr, ExprStruct, Fields, FnArg, ImplItem, Item, Visibility,
    visit_mut::{self, VisitMut},
};

use crate::contract::{self, joined};

/// The path of the outline in the repository.
pub const PATH: &str = "xtask/outline.txt";

/// The outline of the code generated from a document.
pub fn of_document(document: &str) -> Result<String> {
    let mut file = generated(document)?;
    Shared::of(&file).visit_file_mut(&mut file);
    let types = Types::of(&file);
    let table = file.items.iter().find_map(|item| match item {
        Item::Static(item) => Some(&*item.expr),
        _ => None,
    });
    let mut outline = String::from(
        "The outline of the generated code. `cargo xtask regenerate` writes it; do not edit it.\n",
    );
    for (name, lines) in &types.lines {
        outline += &format!("\n{name}\n{}", lines.concat());
    }
    for operation in table.into_iter().flat_map(elements) {
        outline.push('\n');
        describe(operation, 0, &mut outline);
    }
    outline += "\nTexts, with their places\n";
    outline += &texts(&contract::parse(document)?);
    Ok(outline)
}

/// The texts of a document: a line for each, with its places.
pub fn texts(document: &Value) -> String {
    let mut texts = BTreeMap::new();
    collect_texts(document, &mut Vec::new(), &mut texts);
    let lines = texts
        .iter()
        .map(|((keyword, text), places)| format!("  {keyword} {text}: {}\n", places.join(" ")));
    lines.collect()
}

/// The keywords of texts, and of what neither the types nor the lists have.
const TEXTS: [&str; 11] = [
    "description",
    "example",
    "name",
    "schema",
    "summary",
    "tags",
    "title",
    "url",
    "x-correction",
    "x-needs",
    "x-not-shown",
];

/// Collects the places of each text, as JSON pointers. Callbacks are all equal.
fn collect_texts(
    value: &Value,
    steps: &mut Vec<String>,
    found: &mut BTreeMap<(String, String), Vec<String>>,
) {
    let members: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(list) => {
            list.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect()
        }
        _ => return,
    };
    // A field can have the name of a keyword.
    let has_keywords = steps.last().is_some_and(|step| step != "properties");
    for (key, member) in members {
        if has_keywords && TEXTS.contains(&key.as_str()) {
            let places = found.entry((key, member.to_string())).or_default();
            if places.is_empty() || !steps.iter().any(|step| step == "callbacks") {
                places.push(steps.iter().fold(String::new(), |place, step| joined(&place, step)));
            }
        } else {
            steps.push(key);
            collect_texts(member, steps, found);
            steps.pop();
        }
    }
}

/// The types in the code generated from a document.
#[cfg(test)]
pub fn types_of(document: &str) -> Result<Types> {
    Ok(Types::of(&generated(document)?))
}

fn generated(document: &str) -> Result<syn::File> {
    syn::parse_file(&contract::generate(document)?).context("the generator produced invalid Rust")
}

/// The constants that operations share, by name.
struct Shared(BTreeMap<String, Expr>);

impl Shared {
    fn of(file: &syn::File) -> Self {
        let constants = file.items.iter().filter_map(|item| match item {
            Item::Const(item) => Some((item.ident.to_string(), (*item.expr).clone())),
            _ => None,
        });
        Self(constants.collect())
    }
}

/// Replaces the names of the constants by their values.
impl VisitMut for Shared {
    fn visit_expr_mut(&mut self, expression: &mut Expr) {
        if let Expr::Path(used) = expression
            && let Some(name) = used.path.get_ident()
            && let Some(value) = self.0.get(&name.to_string())
        {
            *expression = value.clone();
        }
        visit_mut::visit_expr_mut(self, expression);
    }
}

/// The types by name, with a line for each field, variant or method.
#[derive(Default)]
pub struct Types {
    pub lines: BTreeMap<String, Vec<String>>,
}

/// Methods that every request type has.
const COMMON_METHODS: [&str; 4] = ["extra", "validate", "to_json", "from_json"];

impl Types {
    fn of(file: &syn::File) -> Self {
        let mut types = Self::default();
        for item in &file.items {
            match item {
                Item::Mod(module) if module.ident == "types" => {
                    let items = module.content.iter().flat_map(|(_, items)| items);
                    items.for_each(|item| types.add(item));
                }
                Item::Enum(_) => types.add(item),
                Item::Const(item) if matches!(item.vis, Visibility::Restricted(_)) => {
                    let line = format!("  {}\n", spelled(&item.expr));
                    types.lines.insert(format!("const {}", item.ident), vec![line]);
                }
                Item::Impl(block) if block.trait_.is_none() => types.add_methods(block),
                _ => {}
            }
        }
        types
    }

    fn add(&mut self, item: &Item) {
        match item {
            Item::Struct(item) => {
                let note = deprecation(&item.attrs);
                let lines = match &item.fields {
                    Fields::Named(fields) => fields.named.iter().map(field_line).collect(),
                    fields => fields.iter().map(field_line).collect(),
                };
                self.lines.insert(format!("struct {}{note}", item.ident), lines);
            }
            Item::Enum(item) => {
                let variants = item.variants.iter().map(|variant| {
                    let documentation = variant.attrs.iter().map(spelled).collect::<String>();
                    let value = documentation.split('"').nth(1).unwrap_or_default();
                    format!("  {}: {}\n", variant.ident, value.trim())
                });
                self.lines.insert(format!("enum {}", item.ident), variants.collect());
            }
            _ => {}
        }
    }

    /// Adds the constructor, and what setters take if that is not simply the type of the field.
    fn add_methods(&mut self, block: &syn::ItemImpl) {
        let heading = format!("struct {}", spelled(&block.self_ty));
        let is_type =
            |(known, _): &(&String, &mut Vec<String>)| known.split(" (").next() == Some(&heading);
        let Some((_, lines)) = self.lines.iter_mut().find(is_type) else { return };
        for item in &block.items {
            let ImplItem::Fn(method) = item else { continue };
            let is_common = COMMON_METHODS.iter().any(|common| method.sig.ident == common);
            if matches!(method.vis, Visibility::Public(_)) && !is_common {
                describe_method(&method.sig, lines);
            }
        }
    }
}

/// Adds a setter to the line of its field, and any other method as a separate line.
fn describe_method(signature: &syn::Signature, lines: &mut Vec<String>) {
    let name = signature.ident.to_string();
    let parameters = signature.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(parameter) => Some(spelled(parameter)),
        FnArg::Receiver(_) => None,
    });
    let parameters = parameters.collect::<Vec<_>>().join(", ");
    let Some(line) = lines.iter_mut().find(|line| line.starts_with(&format!("  {name}: "))) else {
        return lines.insert(0, format!("  fn {name}({parameters})\n"));
    };
    let taken = parameters.strip_prefix(&format!("{name}: ")).unwrap_or(&parameters);
    let of_field = taken.strip_prefix("impl IntoField<").and_then(|rest| rest.strip_suffix('>'));
    let usual = of_field.map_or_else(|| taken.replace("impl Into<", "Option<"), str::to_owned);
    line.truncate(line.trim_end().len());
    if !line.ends_with(&usual) {
        *line += &format!(", set by {taken}");
    }
    line.push('\n');
}

fn field_line(field: &syn::Field) -> String {
    let name = field.ident.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
    format!("  {name}{}\n", spelled(&field.ty))
}

/// The first words of the note.
fn deprecation(attributes: &[syn::Attribute]) -> String {
    let note = attributes.iter().find(|attribute| attribute.path().is_ident("deprecated"));
    let text = note.map(spelled).unwrap_or_default();
    text.split('"').nth(1).map(|note| format!(" ({note})")).unwrap_or_default()
}

/// Members that repeat what the document says, whose texts are listed below, or another member.
const REPEATED: [&str; 5] = ["default", "description", "example_json", "not_shown", "summary"];

/// Adds a line with the members of a value that are not defaults, and lines for those that contain
/// others.
fn describe(value: &ExprStruct, depth: usize, lines: &mut String) {
    let (mut line, mut nested) = (Vec::new(), Vec::new());
    for field in value.fields.iter().filter(|field| !is_empty(&field.expr)) {
        let name = spelled(&field.member);
        if REPEATED.contains(&name.as_str()) {
            continue;
        }
        let inner = elements(&field.expr);
        // A kind with limits fits into the line.
        let is_flat = |one: &&ExprStruct| one.fields.iter().all(|it| elements(&it.expr).is_empty());
        match inner[..] {
            [one] if matches!(field.expr, Expr::Struct(_)) && is_flat(&one) => {
                let set = one.fields.iter().filter(|field| !is_empty(&field.expr)).map(spelled);
                let set = set.collect::<Vec<_>>().join(", ");
                line.push(format!("{name}: {} {{ {set} }}", spelled(&one.path)));
            }
            [] => line.push(format!("{name}: {}", spelled(&field.expr))),
            _ => nested.push((name, inner)),
        }
    }
    let indent = "  ".repeat(depth);
    *lines += &format!("{indent}{}\n", line.join(", "));
    for (name, inner) in nested {
        *lines += &format!("{indent}  {name}:\n");
        inner.into_iter().for_each(|one| describe(one, depth + 2, lines));
    }
}

/// The structs in a list, or the struct itself.
fn elements(list: &Expr) -> Vec<&ExprStruct> {
    match list {
        Expr::Reference(reference) => elements(&reference.expr),
        Expr::Array(list) => list.elems.iter().flat_map(elements).collect(),
        Expr::Struct(one) => vec![one],
        _ => Vec::new(),
    }
}

/// Whether a value is a default. Most kinds have few properties, and listing all would hide those.
fn is_empty(value: &Expr) -> bool {
    matches!(spelled(value).as_str(), "None" | "false" | "\"\"" | "&[]")
}

/// Formats tokens with fewer spaces than token streams have.
fn spelled(tokens: &impl ToTokens) -> String {
    let text = tokens.to_token_stream().to_string();
    if text.starts_with('"') {
        return text;
    }
    let tight = [
        (" :: ", "::"),
        (":: ", "::"),
        (" <", "<"),
        ("< ", "<"),
        (" >", ">"),
        (" , ", ", "),
        (" (", "("),
        ("( ", "("),
        (" )", ")"),
        ("& ", "&"),
        (" : ", ": "),
        (" ;", ";"),
        (" ,", ","),
        (",)", ")"),
        (",>", ">"),
    ];
    let text = tight.iter().fold(text, |text, (from, to)| text.replace(from, to));
    ["::std::option::", "::std::string::", "::std::vec::", "crate::", "types::"]
        .iter()
        .fold(text, |text, head| text.replace(head, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check of the outline is complete only if the lists guard the limits, so a change that
    /// only the generated types show must change it.
    #[test]
    fn a_new_field_changes_the_outline() {
        let mut changed: serde_json::Value = serde_json::from_str(contract::DOCUMENT).unwrap();
        changed.pointer_mut("/components/schemas/Gen2Flex/properties").unwrap()["mood"] =
            serde_json::json!({ "type": "string", "description": "A new field." });
        let after = of_document(&changed.to_string()).unwrap();
        assert!(after.contains("  mood: Option<String>\n"), "{after}");
        assert!(after.contains("    name: \"mood\", kind: FieldKind::Text\n"), "{after}");
    }
}
