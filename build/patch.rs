//! Patches the code that progenitor generates.

use std::collections::HashMap;

use proc_macro2::TokenStream;
use quote::quote;
use syn::visit_mut::{self, VisitMut};

use super::{Options, adapt::PLACEHOLDER, contract::Contract, emit, fault::Fault};

pub fn patch(file: &mut syn::File, contract: &Contract, options: &Options) -> Result<(), Fault> {
    let attributes = contract.operations.iter().filter_map(|operation| {
        let submission = operation.submission.as_ref()?;
        Some((submission.type_name.clone(), emit::attributes(operation, submission)))
    });
    let mut patch = Patch {
        attributes: attributes.collect(),
        enums: emit::types(contract, options)?,
        readers: TokenStream::new(),
    };
    patch.visit_file_mut(file);
    let readers: syn::File = syn::parse2(patch.readers)
        .map_err(|error| Fault::new("", format!("the generator produced invalid Rust: {error}")))?;
    file.items.extend(readers.items);
    Ok(())
}

struct Patch {
    /// The attributes by the name of the request type.
    attributes: HashMap<String, Vec<syn::Attribute>>,
    enums: Vec<syn::Item>,
    /// The readers of response types.
    readers: TokenStream,
}

impl VisitMut for Patch {
    fn visit_item_mod_mut(&mut self, module: &mut syn::ItemMod) {
        visit_mut::visit_item_mod_mut(self, module);
        if module.ident == "types"
            && let Some((_, items)) = &mut module.content
        {
            items.append(&mut self.enums);
            // progenitor generates an error type for its own enums, of which none are left.
            items.retain(|item| !matches!(item, syn::Item::Mod(module) if module.ident == "error"));
        }
    }

    fn visit_item_struct_mut(&mut self, item: &mut syn::ItemStruct) {
        visit_mut::visit_item_struct_mut(self, item);
        let has_extra = |field: &syn::Field| field.ident.as_ref().is_some_and(|i| i == "extra");
        if !item.fields.iter().any(has_extra) {
            // The client struct.
            return;
        }
        item.attrs.push(syn::parse_quote!(#[non_exhaustive]));
        match self.attributes.remove(&item.ident.to_string()) {
            Some(attributes) => item.attrs.extend(attributes),
            None => self.readers.extend(emit::reader(item)),
        }
    }

    fn visit_fields_named_mut(&mut self, fields: &mut syn::FieldsNamed) {
        let is_kept =
            |field: &&syn::Field| field.ident.as_ref().is_none_or(|ident| ident != PLACEHOLDER);
        fields.named = fields.named.iter().filter(is_kept).cloned().collect();
        visit_mut::visit_fields_named_mut(self, fields);
    }

    /// Excludes secrets from stored requests; the client settings provide them.
    fn visit_field_mut(&mut self, field: &mut syn::Field) {
        visit_mut::visit_field_mut(self, field);
        let ty = &field.ty;
        if quote!(#ty).to_string().contains("WebhookSecret") {
            field.attrs.retain(|attribute| !attribute.path().is_ident("serde"));
            field.attrs.push(syn::parse_quote!(#[serde(default, skip_serializing)]));
        }
    }

    /// Removes the `api-version` header that progenitor adds to every request.
    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        block.stmts.retain(|statement| !quote!(#statement).to_string().contains("\"api-version\""));
        visit_mut::visit_block_mut(self, block);
    }

    /// Gives unknown fields a type whose `Debug` implementation omits their values.
    fn visit_type_mut(&mut self, ty: &mut syn::Type) {
        const MAP: &str =
            ":: serde_json :: Map < :: std :: string :: String , :: serde_json :: Value >";
        if quote!(#ty).to_string() == MAP {
            *ty = syn::parse_quote!(crate::Extra);
        }
        visit_mut::visit_type_mut(self, ty);
    }
}
