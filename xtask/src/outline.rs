//! The outline of the generated code: types with their fields, constructors and setters, and the
//! table of operations with every limit. Its snapshot shows how a change of the contract affects
//! users of the crate.

use anyhow::{Context, Result};
use quote::ToTokens;
use syn::{Expr, Fields, ImplItem, Item, Visibility};

use crate::contract;

/// The outline of the code generated from a document.
pub fn of_document(document: &str) -> Result<String> {
    let code = contract::generate(document)?;
    let file = syn::parse_file(&code).context("the generator produced invalid Rust")?;
    let mut outline = String::new();
    for item in &file.items {
        match item {
            Item::Mod(module) if module.ident == "types" => {
                let items = module.content.iter().flat_map(|(_, items)| items);
                items.for_each(|item| describe_type(item, &mut outline));
            }
            Item::Impl(block)
                if block.trait_.is_none() && spelled(&block.self_ty).starts_with("types::") =>
            {
                outline += &format!("\nimpl {}\n", spelled(&block.self_ty));
                block.items.iter().for_each(|item| describe_method(item, &mut outline));
            }
            Item::Static(table) => {
                outline += &format!("\n{}: {}\n", table.ident, spelled(&table.ty));
                describe_value(&table.expr, 1, &mut outline);
            }
            _ => {}
        }
    }
    Ok(outline)
}

fn describe_type(item: &Item, outline: &mut String) {
    match item {
        Item::Struct(item) => {
            let deprecated = if item.attrs.iter().any(|a| a.path().is_ident("deprecated")) {
                " (deprecated)"
            } else {
                ""
            };
            *outline += &format!("\nstruct {}{deprecated}\n", item.ident);
            match &item.fields {
                Fields::Named(fields) => {
                    for field in &fields.named {
                        let name =
                            field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
                        *outline += &format!("  {name}: {}\n", spelled(&field.ty));
                    }
                }
                fields => fields
                    .iter()
                    .for_each(|field| *outline += &format!("  {}\n", spelled(&field.ty))),
            }
        }
        Item::Enum(item) => {
            *outline += &format!("\nenum {}\n", item.ident);
            for variant in &item.variants {
                let documentation = variant.attrs.iter().map(spelled).collect::<String>();
                let value = documentation.split('"').nth(1).unwrap_or_default();
                *outline += &format!("  {}: {}\n", variant.ident, value.trim());
            }
        }
        _ => {}
    }
}

/// Methods that every request type has.
const COMMON_METHODS: [&str; 4] = ["extra", "validate", "to_json", "from_json"];

fn describe_method(item: &ImplItem, outline: &mut String) {
    if let ImplItem::Fn(method) = item
        && matches!(method.vis, Visibility::Public(_))
        && !COMMON_METHODS.iter().any(|common| method.sig.ident == common)
    {
        *outline += &format!("  {}\n", spelled(&method.sig));
    }
}

/// A value in the table: structs and lists on several lines, everything else on one.
fn describe_value(value: &Expr, depth: usize, outline: &mut String) {
    let indent = "  ".repeat(depth);
    match value {
        Expr::Reference(reference) => describe_value(&reference.expr, depth, outline),
        Expr::Array(list) => {
            list.elems.iter().for_each(|element| describe_value(element, depth, outline))
        }
        Expr::Struct(table)
            if table
                .path
                .segments
                .last()
                .is_some_and(|s| s.ident == "Operation" || s.ident == "Field") =>
        {
            *outline += &format!(
                "{indent}{}\n",
                table.path.segments.last().map(|s| s.ident.to_string()).unwrap_or_default()
            );
            for member in table.fields.iter().filter(|member| !is_empty(&member.expr)) {
                match &member.expr {
                    Expr::Reference(list) => {
                        *outline += &format!("{indent}  {}:\n", spelled(&member.member));
                        describe_value(&list.expr, depth + 2, outline);
                    }
                    Expr::Struct(parts) => {
                        let set =
                            parts.fields.iter().filter(|part| !is_empty(&part.expr)).map(spelled);
                        let set = set.collect::<Vec<_>>().join(", ");
                        *outline += &format!(
                            "{indent}  {}: {} {{ {set} }}\n",
                            spelled(&member.member),
                            spelled(&parts.path)
                        );
                    }
                    expr => {
                        *outline +=
                            &format!("{indent}  {}: {}\n", spelled(&member.member), spelled(expr))
                    }
                }
            }
        }
        other => *outline += &format!("{indent}{}\n", spelled(other)),
    }
}

/// Whether a value is a default. Most fields have no limits, and listing them would hide those that
/// have some.
fn is_empty(value: &Expr) -> bool {
    match value {
        Expr::Reference(list) => matches!(&*list.expr, Expr::Array(list) if list.elems.is_empty()),
        Expr::Struct(table) => table.fields.iter().all(|member| is_empty(&member.expr)),
        other => matches!(spelled(other).as_str(), "None" | "false" | "\"\""),
    }
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
    ];
    let text = tight.iter().fold(text, |text, (from, to)| text.replace(from, to));
    ["::std::option::", "::std::string::", "::std::vec::", "crate::"]
        .iter()
        .fold(text, |text, head| text.replace(head, ""))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn document() -> Value {
        serde_json::from_str(contract::DOCUMENT).unwrap()
    }

    #[test]
    fn of_the_contract() {
        insta::assert_snapshot!(of_document(contract::DOCUMENT).unwrap());
    }

    /// Every change below must change the outline, or the snapshot would not detect it.
    #[test]
    fn every_change_of_a_limit_or_a_field_changes_the_outline() {
        let before = of_document(contract::DOCUMENT).unwrap();
        let flex = "/components/schemas/Gen2Flex/properties";
        let changes: [(&str, &str, Value); 9] = [
            (flex, "/width/minimum", json!(65)),
            (flex, "/guidance/maximum", json!(10.5)),
            (flex, "/steps/default", json!(49)),
            (flex, "/webhook_url/maxLength", json!(2084)),
            ("/components/schemas/GenDev/properties", "/height/multipleOf", json!(16)),
            (
                "/components/schemas/GenKontextPro/properties",
                "/aspect_ratio/x-aspect-ratio/max",
                json!("22:9"),
            ),
            (
                "/components/schemas/GenToolsDeblurV1/properties",
                "/image/x-max-megapixels",
                json!(5),
            ),
            ("/components/schemas/OutputFormat", "/enum", json!(["jpeg", "png"])),
            ("/components/schemas/Gen2Pro", "/required", json!(["prompt", "seed"])),
        ];
        for (place, pointer, value) in changes {
            let mut changed = document();
            *changed.pointer_mut(&format!("{place}{pointer}")).unwrap() = value;
            assert_ne!(
                of_document(&changed.to_string()).unwrap(),
                before,
                "{place}{pointer} does not change the outline"
            );
        }
        let mut changed = document();
        changed.pointer_mut(flex).unwrap()["mood"] =
            json!({ "type": "string", "description": "A new field." });
        let after = of_document(&changed.to_string()).unwrap();
        assert!(
            after.contains("mood: Option<String>") && after.contains("fn mood(mut self"),
            "a new field is missing:\
{after}"
        );
    }
}
