//! Finds mistakes in the base URLs that the SDK cannot know to be mistakes.

use std::{
    env,
    error::{self, Error as _},
    io,
};

use crate::failure::Failure;
use imagekiln::{BASE_URL_VARIABLE, Error, ErrorKind, REGIONAL_BASE_URL_VARIABLE};

/// Refuses a base URL that ends with the first part of every path, because no path would exist
/// there.
pub fn check() -> Result<(), Failure> {
    for variable in [BASE_URL_VARIABLE, REGIONAL_BASE_URL_VARIABLE] {
        let url = env::var(variable).unwrap_or_default();
        if url.trim().trim_end_matches('/').ends_with("/v1") {
            let problem = format!("{variable} ends with /v1, which every request adds itself");
            return Err(
                Failure::settings(problem).advise("nothing was sent; remove /v1 from its end")
            );
        }
    }
    Ok(())
}

/// The advice if a server does not speak TLS, although the base URL uses https.
pub fn advice_on_tls(error: &Error) -> Option<String> {
    let is_tls = error.kind() == ErrorKind::Network && error.source().is_some_and(is_not_tls);
    is_tls.then(|| {
        format!(
            "nothing was billed; the server does not speak TLS: if it is an http server, write \
             http:// in {BASE_URL_VARIABLE}"
        )
    })
}

/// Whether an error comes from a response that is not TLS.
fn is_not_tls(error: &(dyn error::Error + 'static)) -> bool {
    if let Some(rustls::Error::InvalidMessage(_)) = error.downcast_ref() {
        return true;
    }
    // The source of an I/O error is that of the error in it, so the inner error needs a step.
    let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    inner.is_some_and(|inner| is_not_tls(inner)) || error.source().is_some_and(is_not_tls)
}
