//! Generates the enum for a field with a fixed set of values. The enum keeps unknown values, so
//! programs can use a value that the service has added without a new version of the SDK.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::super::{
    Options,
    choice::{Choice, UNKNOWN, variant},
};

pub fn enum_of(choice: &Choice, options: &Options) -> TokenStream {
    let Choice { description, values, .. } = choice;
    let name = format_ident!("{}", choice.type_name);
    let unknown = format_ident!("{UNKNOWN}");
    let variants: Vec<_> = values.iter().map(|value| format_ident!("{}", variant(value))).collect();
    let documentation = values.iter().map(|value| format!("`{value}`"));
    let derive = options.json_schema.then(|| quote!(#[derive(schemars::JsonSchema)]));
    let transparent = options.json_schema.then(|| quote!(#[schemars(with = "String")]));
    let traits = traits(&name);
    quote! {
        #[doc = #description]
        ///
        /// Values that this version does not know are kept, and `validate()` reports them.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        #derive
        #transparent
        #[non_exhaustive]
        pub enum #name {
            #(#[doc = #documentation] #variants,)*
            /// A value that this version does not know.
            #unknown(String),
        }

        impl #name {
            /// Returns the value as defined in the contract.
            pub fn as_str(&self) -> &str {
                match self {
                    #(Self::#variants => #values,)*
                    Self::#unknown(value) => value,
                }
            }
        }

        impl From<&str> for #name {
            fn from(value: &str) -> Self {
                match value {
                    #(#values => Self::#variants,)*
                    other => Self::#unknown(other.to_owned()),
                }
            }
        }

        #traits
    }
}

fn traits(name: &syn::Ident) -> TokenStream {
    quote! {
        impl From<String> for #name {
            fn from(value: String) -> Self {
                value.as_str().into()
            }
        }

        impl std::str::FromStr for #name {
            type Err = std::convert::Infallible;

            fn from_str(value: &str) -> Result<Self, Self::Err> {
                Ok(value.into())
            }
        }

        impl std::fmt::Display for #name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for #name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for #name {
            fn deserialize<D>(deserializer: D) -> Result<Self, D::Error>
            where
                D: serde::Deserializer<'de>,
            {
                Ok(<String as serde::Deserialize>::deserialize(deserializer)?.into())
            }
        }
    }
}
