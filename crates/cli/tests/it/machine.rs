//! `--simulate` works on machines where other servers would not, because it needs only its own
//! process.

use crate::bench::Place;

#[test]
fn simulating_works_in_any_environment() {
    let nobody = "http://127.0.0.1:9";
    for environment in [
        // A minimal container has no certificates; loopback needs none.
        &[("SSL_CERT_FILE", "/nowhere"), ("SSL_CERT_DIR", "/nowhere")][..],
        // A proxy can't reach this machine's loopback.
        &[("http_proxy", nobody), ("HTTP_PROXY", nobody), ("ALL_PROXY", nobody)],
        // Settings of a service are not read.
        &[("IMAGEKILN_API_KEY", "bad\nkey"), ("IMAGEKILN_BASE_URL", "no url")],
    ] {
        let place = Place::new();
        let line = "--simulate generate 'a red fox' -s 64x64 --output fox.png";
        let outcome = place.run_with(environment, line);
        assert_eq!(outcome.code, 0, "{environment:?}: {}", outcome.stderr);
        assert_eq!(place.files(), ["fox.png"]);
    }
}
