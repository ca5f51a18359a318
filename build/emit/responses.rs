//! Generates what the responses say about tasks.

use proc_macro2::TokenStream;
use quote::quote;

use super::super::response::Responses;

pub fn constants(responses: &Responses) -> TokenStream {
    let Responses { success_statuses, failure_statuses, delivery_validity, .. } = responses;
    quote! {
        /// The statuses of a task that succeeded.
        #[cfg(test)]
        pub(crate) const SUCCESS_STATUSES: &[&str] = &[#(#success_statuses),*];

        /// The statuses of a task that failed.
        #[cfg(test)]
        pub(crate) const FAILURE_STATUSES: &[&str] = &[#(#failure_statuses),*];

        /// How long a delivery URL is valid, in seconds.
        pub(crate) const DELIVERY_VALIDITY_SECONDS: u64 = #delivery_validity;
    }
}
