//! Which servers the simulator sends requests to.

use std::{env, process::Command};

use serde_json::json;

use super::{bench::Bench, webhook_receiver::Receiver};
use imagekiln_simulator::{Config, TlsFiles, WebhookSettings, WebhookState};

const PATH: &str = "/v1/gen-2-flex";

const ELSEWHERE: &str = "the host is not on this machine, and `webhooks.allow_remote` is not set";
const NO_MACHINE: &str = "the host is not an address of a machine";
const ITSELF: &str = "the simulator does not send requests to itself";
const SCHEME: &str = "the URL is neither http nor https";

/// What is refused if only this machine is allowed, and if every host is. Instead of 4321, URLs
/// have the simulator's own port.
#[rustfmt::skip]
const CASES: [(&str, Option<&str>, Option<&str>); 33] = [
    ("http://127.0.0.1:1/a", None, None),
    ("http://127.9.9.9/", None, None),
    ("http://127.1/", None, None),
    ("http://2130706433/", None, None),
    ("https://[::1]:2/", None, None),
    ("https://LOCALHOST/x", None, None),
    ("http://[::ffff:127.0.0.1]:7/", None, None),
    ("http://10.0.0.1/", Some(ELSEWHERE), None),
    ("http://169.254.169.254/", Some(ELSEWHERE), None),
    ("http://192.0.2.1/", Some(ELSEWHERE), None),
    ("http://[fe80::1]/", Some(ELSEWHERE), None),
    ("http://[2001:db8::1]/", Some(ELSEWHERE), None),
    ("http://[::ffff:192.0.2.1]/", Some(ELSEWHERE), None),
    ("http://127.0.0.1@192.0.2.1/", Some(ELSEWHERE), None),
    ("http://localhost./", Some(ELSEWHERE), None),
    ("http://localhost.example/", Some(ELSEWHERE), None),
    ("http://127.0.0.1.example/", Some(ELSEWHERE), None),
    ("https://example.com/", Some(ELSEWHERE), None),
    ("http://0.0.0.0/", Some(NO_MACHINE), Some(NO_MACHINE)),
    ("http://0/", Some(NO_MACHINE), Some(NO_MACHINE)),
    ("http://[::]/", Some(NO_MACHINE), Some(NO_MACHINE)),
    ("http://[::ffff:0.0.0.0]/", Some(NO_MACHINE), Some(NO_MACHINE)),
    ("http://127.0.0.1:4321/", Some(ITSELF), Some(ITSELF)),
    ("https://127.0.0.2:4321/", Some(ITSELF), Some(ITSELF)),
    ("http://localhost:4321/", Some(ITSELF), Some(ITSELF)),
    ("http://[::1]:4321/", Some(ITSELF), Some(ITSELF)),
    ("http://[::ffff:127.0.0.1]:4321/", Some(ITSELF), Some(ITSELF)),
    ("http://2130706433:4321/", Some(ITSELF), Some(ITSELF)),
    ("http://0.0.0.0:4321/", Some(NO_MACHINE), Some(NO_MACHINE)),
    ("http://192.0.2.1:4321/", Some(ELSEWHERE), None),
    ("ftp://127.0.0.1/", Some(SCHEME), Some(SCHEME)),
    ("mailto:a@localhost", Some(SCHEME), Some(SCHEME)),
    ("file:///etc/passwd", Some(SCHEME), Some(SCHEME)),
];

#[tokio::test]
async fn only_allowed_hosts_are_targets() {
    for allow_remote in [false, true] {
        let webhooks = WebhookSettings { allow_remote, ..WebhookSettings::default() };
        // The clock is stopped, so that nothing is sent.
        let bench = Bench::with(Config { webhooks, speed: 0.0, ..Config::default() }).await;
        let own = bench.sim.base_url().rsplit(':').next().unwrap();
        for (url, _, _) in CASES {
            let url = url.replace(":4321", &format!(":{own}"));
            bench.submit(PATH, &json!({ "prompt": "x", "webhook_url": url })).await;
        }
        let log = bench.sim.webhooks_when(|log| log.len() == CASES.len()).await;
        for (delivery, (url, loopback, any)) in log.iter().zip(CASES) {
            let refusal = if allow_remote { any } else { loopback };
            let is_refused = delivery.state == WebhookState::Refused;
            assert_eq!((delivery.refusal, is_refused), (refusal, refusal.is_some()), "{url}");
        }
    }
}

#[tokio::test]
async fn the_parts_of_a_request_are_those_of_the_url() {
    let (bench, mut receiver) = (Bench::new().await, Receiver::start_everywhere().await);
    let port = receiver.address.port();
    for (user, host, path_and_query) in [
        ("me:word@", format!("127.0.0.1:{port}"), "/a?token=b"),
        ("", format!("127.0.0.1:{port}"), "/"),
        ("", format!("localhost:{port}"), "/?"),
        ("", format!("[::ffff:7f00:1]:{port}"), "/"),
    ] {
        let url = format!("http://{user}{host}{path_and_query}#c");
        let task = bench.submit(PATH, &json!({ "prompt": "x", "webhook_url": url })).await;
        bench.sample(&task).await;
        let hit = receiver.respond_with(200).await;
        assert_eq!((hit.header("host"), &*hit.path_and_query), (Some(&*host), path_and_query));
    }
}

/// The variable that names the file with the trusted certificates.
const TRUSTED: &str = "SSL_CERT_FILE";

/// Runs itself again in a process with this variable, because a test cannot change its own.
#[cfg_attr(not(target_os = "linux"), ignore = "the system does not read this variable")]
#[tokio::test]
async fn https_requires_a_trusted_certificate_for_the_host() {
    const TRUSTING: &str = "IMAGEKILN_TEST_TRUSTING";
    let folder = tempfile::tempdir().unwrap();
    if env::var_os(TRUSTING).is_none() {
        let test = "outgoing::https_requires_a_trusted_certificate_for_the_host";
        let mut again = Command::new(env::current_exe().unwrap());
        again.args(["--exact", test]).env(TRUSTING, "1");
        again.env(TRUSTED, folder.path().join("trusted.pem"));
        let output = tokio::task::spawn_blocking(move || again.output()).await.unwrap().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
        return;
    }
    let receiver = async |certificate| {
        let tls = Some(TlsFiles { certificate, key: None });
        let listen = Some("0.0.0.0:0".parse().unwrap());
        let config = Config { tls, listen, allow_remote: true, ..Config::default() };
        Bench::with(config).await
    };
    let trusted = receiver(env::var_os(TRUSTED).unwrap().into()).await;
    let unknown = receiver(folder.path().join("unknown.pem")).await;
    let webhooks = WebhookSettings { retry_after: vec![], ..WebhookSettings::default() };
    let bench = Bench::with(Config { webhooks, ..Config::default() }).await;
    for (receiver, host) in
        [(&trusted, "localhost"), (&trusted, "127.0.0.2"), (&unknown, "localhost")]
    {
        let port = receiver.sim.base_url().rsplit(':').next().unwrap();
        let url = format!("https://{host}:{port}/healthz");
        let task = bench.submit(PATH, &json!({ "prompt": "x", "webhook_url": url })).await;
        bench.sample(&task).await;
    }
    let is_ended = |state| state != WebhookState::Waiting;
    let log = bench.sim.webhooks_when(|log| log.iter().all(|one| is_ended(one.state))).await;
    assert_eq!(log[0].state, WebhookState::Delivered, "{log:?}");
    for failed in &log[1..] {
        let problem = failed.attempts[0].problem.as_ref().unwrap();
        assert!(problem.starts_with("TLS failed"), "{problem}");
    }
}
