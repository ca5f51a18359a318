//! How requests leave and answers come in: TLS, the key and where it may go, streamed bodies, retries, reading answers.

pub(crate) mod body;
pub(crate) mod clock;
pub(crate) mod hooks;
pub(crate) mod key;
pub(crate) mod origin;
pub(crate) mod reply;
pub(crate) mod retry;
pub(crate) mod tls;
