//! Finds a mistake in the base URL that the SDK cannot recognize.

use std::{
    error::{self, Error as _},
    io,
};

use imagekiln::{Error, ErrorKind};

/// The advice if a server does not speak TLS, although the base URL uses https.
pub fn advice_on_tls(error: &Error) -> Option<&'static str> {
    let is_tls = error.kind() == ErrorKind::Network && error.source().is_some_and(is_not_tls);
    is_tls.then_some(
        "nothing was billed; the server does not speak TLS: if it is an http server, write http:// \
         in the base URL",
    )
}

/// Whether an error comes from a response that is not TLS.
pub fn is_not_tls(error: &(dyn error::Error + 'static)) -> bool {
    if let Some(rustls::Error::InvalidMessage(_)) = error.downcast_ref() {
        return true;
    }
    // The source of an I/O error is that of the error in it, so the inner error needs a step.
    let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    inner.is_some_and(|inner| is_not_tls(inner)) || error.source().is_some_and(is_not_tls)
}
