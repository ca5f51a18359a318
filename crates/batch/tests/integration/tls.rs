//! A ledger on a server that has a certificate of its own.

use std::{fs, net::TcpListener, path::Path};

use imagekiln_batch::{ErrorKind, Ledger};
use imagekiln_testbed::{Trial, postgres::Cluster};
use rcgen::generate_simple_self_signed;

use crate::support::{chain, postgres};

pub fn tests() -> Vec<Vec<Trial>> {
    vec![postgres(a_server_proves_who_it_is)]
}

async fn a_server_proves_who_it_is() {
    let made = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let other = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let _server = Cluster::start_tls(&made.cert.pem(), &made.signing_key.serialize_pem(), port);
    let directory = tempfile::tempdir().unwrap();
    let root = |name: &str, pem: &str| {
        let path = directory.path().join(name);
        fs::write(&path, pem).unwrap();
        path
    };
    let (root, wrong) = (root("root.crt", &made.cert.pem()), root("wrong.crt", &other.cert.pem()));
    let missing = directory.path().join("missing.crt");
    let untrusted = Some("certificate");
    let cases: [(&str, &str, Option<&Path>, Option<&str>); 9] = [
        ("localhost", "disable", None, None),
        ("localhost", "require", None, None),
        ("localhost", "verify-ca", Some(&root), None),
        ("localhost", "verify-ca", Some(&wrong), untrusted),
        // The certificate has another name. The driver checks it for both modes.
        ("127.0.0.1", "verify-ca", Some(&root), untrusted),
        ("127.0.0.1", "verify-full", Some(&root), untrusted),
        ("localhost", "verify-full", Some(&root), None),
        ("localhost", "verify-full", Some(&wrong), untrusted),
        ("localhost", "verify-full", Some(&missing), Some("No such file")),
    ];
    for (host, mode, root, refused) in cases {
        let root = root.map(|root| format!("&sslrootcert={}", root.display())).unwrap_or_default();
        let url = format!("postgres://postgres@{host}:{port}/postgres?sslmode={mode}{root}");
        let connected = Ledger::open(&url).await;
        let Some(part) = refused else {
            connected.unwrap_or_else(|error| panic!("{url}: {}", chain(&error)));
            continue;
        };
        let error = connected.expect_err(&url);
        assert_eq!(error.kind(), ErrorKind::Ledger);
        let text = chain(&error);
        assert!(text.contains(part), "{url}: {text}");
    }
    let error = Ledger::open("postgres://postgres@localhost/fox?sslmode=maybe").await;
    let text = chain(&error.unwrap_err());
    assert!(text.contains("maybe"), "{text}");
}
