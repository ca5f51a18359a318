//! Generates the methods and conversions of an object in a request.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::{
    super::kind::Object,
    convert, ident,
    setter::{argument, setter},
};

pub fn methods(object: &Object) -> TokenStream {
    let type_name = format_ident!("{}", object.type_name);
    let required = object.fields.iter().filter(|field| field.required);
    let (parameters, values): (Vec<_>, Vec<_>) = required.map(argument).unzip();
    let optional = || object.fields.iter().filter(|field| !field.required);
    let unset = optional().map(ident);
    let setters = optional().map(setter);
    let what = if parameters.is_empty() { "" } else { " with its required fields" };
    let documentation = format!("Creates the value{what}.");
    let default = parameters.is_empty().then(|| {
        quote! {
            impl Default for types::#type_name {
                fn default() -> Self {
                    Self::new()
                }
            }
        }
    });
    let typed = convert::typed(&object.type_name, &object.fields);
    quote! {
        impl types::#type_name {
            #[doc = #documentation]
            pub fn new(#(#parameters),*) -> Self {
                Self { #(#values,)* #(#unset: None,)* extra: Default::default() }
            }

            #(#setters)*

            /// Sets a field that the contract does not define, or an explicit `null`. Setting a
            /// field both ways is a violation.
            pub fn extra(mut self, name: impl Into<String>, value: impl crate::IntoJson) -> Self {
                self.extra.set(name.into(), value);
                self
            }
        }

        #default

        #typed
    }
}
