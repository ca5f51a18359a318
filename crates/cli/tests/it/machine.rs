//! `--simulate` works on machines where other servers would not, because it needs only its own
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

/// A minimal container has no certificates; loopback needs none.
#[test]
fn simulating_works_without_certificates() {
    let (place, outcome) =
        simulated(&[("SSL_CERT_FILE", "/nowhere"), ("SSL_CERT_DIR", "/nowhere")]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert_eq!(place.files(), ["fox.png"]);
}

/// A proxy can't reach this machine's loopback.
#[test]
fn simulating_works_behind_a_proxy() {
    let nobody = "http://127.0.0.1:9";
    let (place, outcome) =
        simulated(&[("http_proxy", nobody), ("HTTP_PROXY", nobody), ("ALL_PROXY", nobody)]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert_eq!(place.files(), ["fox.png"]);
}
