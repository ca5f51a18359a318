//! Patches the code that progenitor generates: adds attributes, enums and readers, and replaces
//! what the SDK needs in a different form.

use std::collections::{HashMap, HashSet};

use proc_macro2::TokenStream;
use syn::visit_mut::{self, VisitMut};

use super::{Options, adapt::PLACEHOLDER, contract::Contract, emit, faults::Faults, types::Types};

pub fn patch(
    file: &mut syn::File,
    contract: &Contract,
    types: &Types,
    options: &Options,
) -> Result<(), Faults> {
    let attributes = contract.operations.iter().filter_map(|operation| {
        let submission = operation.submission.as_ref()?;
        Some((submission.type_name.clone(), emit::attributes(contract, operation, submission)))
    });
    let mut patch = Patch {
        attributes: attributes.collect(),
        enums: emit::types(types, options)?,
        objects: HashSet::new(),
        readers: TokenStream::new(),
    };
    patch.objects = response_objects(file, &patch.attributes);
    patch.visit_file_mut(file);
    let readers: syn::File = syn::parse2(patch.readers).map_err(|error| {
        Faults::new("", format!("the generator produced invalid Rust: {error}"))
    })?;
    file.items.extend(readers.items);
    Ok(())
}

struct Patch {
    /// The attributes by the name of the request type.
    attributes: HashMap<String, Vec<syn::Attribute>>,
    enums: Vec<syn::Item>,
    /// The names of the response types that have readers.
    objects: HashSet<String>,
    readers: TokenStream,
}

/// Returns the names of the response types, which keep unknown fields.
fn response_objects(
    file: &syn::File,
    requests: &HashMap<String, Vec<syn::Attribute>>,
) -> HashSet<String> {
    let modules = file.items.iter().filter_map(|item| match item {
        syn::Item::Mod(module) if module.ident == "types" => module.content.as_ref(),
        _ => None,
    });
    let structs = modules.flat_map(|(_, items)| items).filter_map(|item| match item {
        syn::Item::Struct(item) if keeps_unknown_fields(item) => Some(item.ident.to_string()),
        _ => None,
    });
    structs.filter(|name| !requests.contains_key(name)).collect()
}

fn keeps_unknown_fields(item: &syn::ItemStruct) -> bool {
    item.fields.iter().any(|field| field.ident.as_ref().is_some_and(|ident| ident == "extra"))
}

fn is_error_module(item: &syn::Item) -> bool {
    matches!(item, syn::Item::Mod(module) if module.ident == "error")
}

/// The name of the variable with the map of headers in the code of progenitor.
const HEADERS: &str = "header_map";

fn is_headers(expression: &syn::Expr) -> bool {
    matches!(expression, syn::Expr::Path(variable) if variable.path.is_ident(HEADERS))
}

/// Searches code for a name.
struct Mentions {
    name: &'static str,
    found: bool,
}

impl Mentions {
    fn of(name: &'static str, visit: impl FnOnce(&mut Self)) -> bool {
        let mut mentions = Self { name, found: false };
        visit(&mut mentions);
        mentions.found
    }
}

impl VisitMut for Mentions {
    fn visit_ident_mut(&mut self, ident: &mut syn::Ident) {
        self.found |= ident == self.name;
    }
}

impl VisitMut for Patch {
    fn visit_item_mod_mut(&mut self, module: &mut syn::ItemMod) {
        visit_mut::visit_item_mod_mut(self, module);
        if module.ident == "types"
            && let Some((_, items)) = &mut module.content
        {
            // progenitor generates an error type for its own enums. Remove it unless something uses
            // it. The enums of `emit` do not.
            let uses_error = |item: &syn::Item| {
                let visit = |mentions: &mut Mentions| mentions.visit_item_mut(&mut item.clone());
                !is_error_module(item) && Mentions::of("ConversionError", visit)
            };
            if !items.iter().any(uses_error) {
                items.retain(|item| !is_error_module(item));
            }
            items.append(&mut self.enums);
        }
    }

    fn visit_item_struct_mut(&mut self, item: &mut syn::ItemStruct) {
        visit_mut::visit_item_struct_mut(self, item);
        if !keeps_unknown_fields(item) {
            // This is another struct, such as the client.
            return;
        }
        item.attrs.push(syn::parse_quote!(#[non_exhaustive]));
        match self.attributes.remove(&item.ident.to_string()) {
            Some(attributes) => item.attrs.extend(attributes),
            None => self.readers.extend(emit::reader(item, &self.objects)),
        }
    }

    fn visit_fields_named_mut(&mut self, fields: &mut syn::FieldsNamed) {
        let is_kept =
            |field: &&syn::Field| field.ident.as_ref().is_none_or(|ident| ident != PLACEHOLDER);
        fields.named = fields.named.iter().filter(is_kept).cloned().collect();
        visit_mut::visit_fields_named_mut(self, fields);
    }

    /// Excludes secrets from serialization, so that stored requests do not contain them. The
    /// settings of the client provide them again.
    fn visit_field_mut(&mut self, field: &mut syn::Field) {
        visit_mut::visit_field_mut(self, field);
        if Mentions::of("Secret", |mentions| mentions.visit_type_mut(&mut field.ty)) {
            field.attrs.retain(|attribute| !attribute.path().is_ident("serde"));
            field.attrs.push(syn::parse_quote!(#[serde(default, skip_serializing)]));
        }
    }

    /// Removes the code that builds a map of headers. progenitor generates it to send the header
    /// `api-version`.
    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        block.stmts.retain(|statement| match statement {
            syn::Stmt::Local(local) => {
                !matches!(&local.pat, syn::Pat::Ident(name) if name.ident == HEADERS)
            }
            syn::Stmt::Expr(syn::Expr::MethodCall(call), _) => !is_headers(&call.receiver),
            _ => true,
        });
        visit_mut::visit_block_mut(self, block);
    }

    /// Removes the call that adds the map of headers to the request.
    fn visit_expr_mut(&mut self, expression: &mut syn::Expr) {
        visit_mut::visit_expr_mut(self, expression);
        if let syn::Expr::MethodCall(call) = expression
            && call.args.first().is_some_and(is_headers)
        {
            *expression = (*call.receiver).clone();
        }
    }

    /// Gives unknown fields a type whose `Debug` implementation omits their values.
    fn visit_type_mut(&mut self, ty: &mut syn::Type) {
        let is_map = |path: &syn::Path| {
            path.segments.iter().map(|segment| &segment.ident).eq(["serde_json", "Map"])
        };
        if matches!(ty, syn::Type::Path(named) if is_map(&named.path)) {
            *ty = syn::parse_quote!(crate::Extra);
        }
        visit_mut::visit_type_mut(self, ty);
    }
}
