//! Generates a function that calls the method of the generated client for an operation, so that
//! typed and dynamic requests are sent the same way.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::super::contract::Contract;

pub fn send(contract: &Contract) -> TokenStream {
    let arms = contract.operations.iter().filter_map(|operation| {
        let submission = operation.submission.as_ref()?;
        let id = &operation.id;
        let method = format_ident!("{id}");
        let parameters = submission.path_parameters.iter().map(|parameter| {
            let name = &parameter.name;
            quote!(path(#name),)
        });
        Some(quote!(#id => client.#method(#(#parameters)* body).await,))
    });
    quote! {
        /// Sends `body` to the operation by POST. `path` returns the values of path parameters.
        pub(crate) async fn send<'a>(
            client: &Client,
            operation: &crate::Operation,
            path: impl Fn(&str) -> &'a str,
            body: reqwest::Body,
        ) -> Result<ResponseValue<ByteStream>, Error<()>> {
            match operation.id {
                #(#arms)*
                other => Err(Error::InvalidRequest(format!("`{other}` does not create tasks"))),
            }
        }
    }
}
