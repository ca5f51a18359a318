//! Generates the methods and conversions of an object in a request.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::{
    super::field::Object,
    convert,
    setter::{constructor, setter},
};

pub fn methods(object: &Object) -> TokenStream {
    let type_name = format_ident!("{}", object.type_name);
    let setters = object.fields.iter().filter(|field| !field.required).map(setter);
    let has_arguments = object.fields.iter().any(|field| field.required);
    let what = if has_arguments { " with its required fields" } else { "" };
    let constructor = constructor(&format!("Creates the value{what}."), &[], &object.fields);
    let default = (!has_arguments).then(|| {
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
            #constructor

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
