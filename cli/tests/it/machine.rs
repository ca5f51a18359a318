//! `--simulate` on machines that would be in the way of any other server: it needs nothing but this
//! process.

use crate::bench::{Outcome, Place};

fn simulated(environment: &[(&str, &str)]) -> (Place, Outcome) {
    let place = Place::new();
    let mut command = place.kiln(&[
        "--simulate",
        "generate",
        "a red fox",
        "--width",
        "64",
        "--height",
        "64",
        "--output",
        "fox.png",
    ]);
    command.envs(environment.iter().copied());
    let outcome = Outcome::of(command.output().unwrap());
    (place, outcome)
}

/// A bare container has no certificates, and needs none for loopback.
#[test]
fn without_certificates() {
    let (place, outcome) =
        simulated(&[("SSL_CERT_FILE", "/nowhere"), ("SSL_CERT_DIR", "/nowhere")]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert_eq!(place.files(), ["fox.png"]);
}

/// No proxy knows the way to this machine's own loopback.
#[test]
fn behind_a_proxy() {
    let nobody = "http://127.0.0.1:9";
    let (place, outcome) =
        simulated(&[("http_proxy", nobody), ("HTTP_PROXY", nobody), ("ALL_PROXY", nobody)]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert_eq!(place.files(), ["fox.png"]);
}
