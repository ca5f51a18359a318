//! The outline of the generated code: the types with their fields and methods, and the table of
//! operations with every limit. It shows how a change of the contract affects users of the crate.
//! The texts of the document follow, so that no change of it is unseen.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use quote::ToTokens;
use serde_json::Value;
use syn::{
    Attribute, Block, Expr, ExprStruct, ImplItem, Item, Variant, Visibility,
    visit_mut::{self, VisitMut},
};

use crate::contract::{self, joined};

/// The path of the outline in the repository.
pub const PATH: &str = "xtask/outline.txt";

/// The outline of the code generated from a document.
pub fn of_document(document: &str) -> Result<String> {
    Ok(format!(
        "The outline of the generated code. `cargo xtask regenerate` writes it; do not edit it.\n\n\
         {}\nTexts, with their places\n{}",
        prettyplease::unparse(&interface(document)?),
        texts(&contract::parse(document)?)
    ))
}

/// The code generated from a document, without what users do not see.
pub fn interface(document: &str) -> Result<syn::File> {
    let paths = ["::std::option::", "::std::string::", "::std::vec::", "crate::"];
    let code = contract::generate(document)?;
    let code = paths.iter().fold(code, |code, path| code.replace(path, ""));
    let mut file = syn::parse_file(&code).context("the generator produced invalid Rust")?;
    let constants = file.items.iter().filter_map(|item| match item {
        Item::Const(item) => Some((item.ident.to_string(), (*item.expr).clone())),
        _ => None,
    });
    Outline { constants: constants.collect() }.visit_file_mut(&mut file);
    let items = std::mem::take(&mut file.items).into_iter().flat_map(|item| match item {
        Item::Mod(module) if module.ident == "types" => module.content.unwrap_or_default().1,
        Item::Struct(_) => Vec::new(),
        other => vec![other],
    });
    file.items = items.filter(is_shown).collect();
    Ok(file)
}

fn is_shown(item: &Item) -> bool {
    match item {
        Item::Struct(_) | Item::Enum(_) | Item::Static(_) => true,
        Item::Const(item) => matches!(item.vis, Visibility::Restricted(_)),
        Item::Impl(block) => block.trait_.is_none() && text(&block.self_ty).starts_with("types ::"),
        _ => false,
    }
}

/// Removes what users do not see.
struct Outline {
    /// The values that operations share, by name.
    constants: BTreeMap<String, Expr>,
}

/// Methods that every request type has.
const COMMON_METHODS: [&str; 4] = ["extra", "validate", "to_json", "from_json"];

/// Members that repeat what the document says, whose texts are listed below, or another member.
const REPEATED: [&str; 6] =
    ["default", "description", "example_json", "limits", "not_shown", "summary"];

impl VisitMut for Outline {
    fn visit_attributes_mut(&mut self, attributes: &mut Vec<Attribute>) {
        attributes.retain(|attribute| attribute.path().is_ident("deprecated"));
    }

    /// The documentation of a variant is its value.
    fn visit_variant_mut(&mut self, _: &mut Variant) {}

    fn visit_item_impl_mut(&mut self, block: &mut syn::ItemImpl) {
        block.items.retain(|item| {
            matches!(item, ImplItem::Fn(method) if matches!(method.vis, Visibility::Public(_))
                && !COMMON_METHODS.iter().any(|common| method.sig.ident == common))
        });
        visit_mut::visit_item_impl_mut(self, block);
    }

    fn visit_block_mut(&mut self, block: &mut Block) {
        block.stmts.clear();
    }

    fn visit_expr_mut(&mut self, expression: &mut Expr) {
        if let Some(value) = self.constants.get(&text(expression)) {
            *expression = value.clone();
        }
        visit_mut::visit_expr_mut(self, expression);
    }

    /// Most kinds have few properties, and listing all defaults would hide those.
    fn visit_expr_struct_mut(&mut self, value: &mut ExprStruct) {
        let fields = std::mem::take(&mut value.fields).into_iter().filter(|field| {
            let is_default = ["None", "false", "\"\"", "& []"].contains(&&*text(&field.expr));
            !is_default && !REPEATED.contains(&&*text(&field.member))
        });
        value.fields = fields.collect();
        (value.dot2_token, value.rest) = (None, None);
        visit_mut::visit_expr_struct_mut(self, value);
    }
}

fn text(tokens: &impl ToTokens) -> String {
    tokens.to_token_stream().to_string()
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
        assert!(after.contains("    pub mood: Option<String>,\n"), "{after}");
        assert!(after.contains("name: \"mood\","), "{after}");
    }
}
