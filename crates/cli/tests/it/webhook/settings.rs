//! `kiln webhook`: invalid settings and command lines.

use super::{
    listening::not_listening,
    signed::{BODY, SECRET, hmac_header},
    verify::recorded,
};
use crate::{
    assert_shown,
    bench::{Outcome, Place},
    errors::shown,
};

#[test]
fn options_that_the_scheme_does_not_have() {
    let place = Place::new();
    let lines = [
        "--id-header x-id",
        "--scheme shared-secret --timestamp-header x-time",
        "--scheme standard --prefix v2,",
        "--scheme shared-secret --encoding base64",
        "--max-age 60",
        "--signature-header x:y",
    ];
    let mut text = String::new();
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        // Even without a secret, the settings are checked before anything is received.
        let listen =
            not_listening(&mut place.kiln(&[&["webhook", "listen"], &words[..]].concat())).fails(2);
        let (_place, mut verify) = recorded(BODY, &[hmac_header(BODY)], &words);
        let verify = Outcome::of(verify.output().unwrap()).fails(2);
        assert_eq!(listen.stderr, verify.stderr);
        text += &format!("{line}\n{}\n\n", shown(&verify));
    }
    assert_shown!("scheme", text.trim_end());
    let json = not_listening(&mut place.kiln(&["webhook", "listen", "--max-age", "60", "--json"]));
    let json = json.fails(2).error();
    assert_eq!((&json["kind"], &json["exit_code"]), (&"settings".into(), &2.into()));
}

#[test]
fn unusable_secrets() {
    let place = Place::new();
    place.write("body.json", BODY);
    let header = hmac_header(BODY);
    let verify = |options: &[&str], code| {
        let words = [&["webhook", "verify", "body.json", "-H", &header], options].concat();
        shown(&place.run(&words).fails(code))
    };
    assert_shown!("no_secret", verify(&[], 2));
    assert_shown!("no_secret_file", verify(&["--secret-file", "nowhere"], 1));
    place.write("empty", "\n");
    assert_shown!("empty_secret_file", verify(&["--secret-file", "empty"], 2));
    place.write("binary", b"\xffHUSH");
    assert_shown!("binary_secret_file", verify(&["--secret-file", "binary"], 2));
    place.write("large", "x".repeat(64 * 1024 + 1));
    assert_shown!("large_secret_file", verify(&["--secret-file", "large"], 2));
    let standard = ["--scheme", "standard", "--id-header", "svix-id", "--secret-file", "standard"];
    let mut text = String::new();
    for secret in ["whsec_aGF0", "whsec_YS1zZWNyZXQtb2YtdGhlLXRlc3RzLg", "v1,whsec_aGF0"] {
        place.write("standard", format!("\u{feff}{secret}"));
        text += &format!("{secret}\n{}\n\n", verify(&standard, 2));
    }
    assert_shown!("standard_secret_file", text.trim_end());
}

#[cfg(unix)]
#[test]
fn a_secret_that_is_not_unicode_is_not_printed() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let (_place, mut command) = recorded(BODY, &[], &[]);
    command.env("IMAGEKILN_WEBHOOK_SECRET", OsStr::from_bytes(b"HUSH\xff"));
    let outcome = Outcome::of(command.output().unwrap()).fails(2);
    assert_eq!(outcome.stderr, "error: IMAGEKILN_WEBHOOK_SECRET is not valid Unicode\n");
}

#[test]
fn invalid_headers_are_not_quoted() {
    for header in ["sha256=HUSH", "x y: HUSH", ": HUSH", "x: HUSH\nz: 1", "x: HUSH\u{7f}"] {
        let (_place, mut command) = recorded(BODY, &[hmac_header(BODY), header.to_owned()], &[]);
        let outcome = Outcome::of(command.output().unwrap()).fails(2);
        assert!(!outcome.stderr.contains("HUSH"), "{}", outcome.stderr);
        assert_shown!("bad_header", shown(&outcome));
    }
}

#[test]
fn invalid_command_lines() {
    let place = Place::new();
    let wrong = |words: &[&str], code| {
        let words = [&["webhook"], words].concat();
        shown(&not_listening(&mut place.kiln(&words)).fails(code))
    };
    assert_shown!("bad_scheme", wrong(&["listen", "--scheme", "md5"], 2));
    assert_shown!("bad_pointer", wrong(&["listen", "--task-id", "data.id"], 2));
    assert_shown!("bad_path", wrong(&["listen", "--path", "/hook?token=1"], 2));
    assert_shown!("bad_address", wrong(&["listen", "--listen", "localhost"], 2));
    for action in ["listen", "verify"] {
        let file: &[&str] = if action == "verify" { &["body.json"] } else { &[] };
        let words = [&["--simulate", "webhook", action], file].concat();
        let outcome = not_listening(&mut place.kiln(&words)).fails(2);
        assert_shown!(format!("simulated_{action}"), shown(&outcome));
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    assert_shown!("taken", wrong(&["listen", "--listen", &address, "--quiet"], 1));
}

#[test]
fn an_unreadable_body() {
    let place = Place::new();
    let mut command = place.kiln(&["webhook", "verify", "nowhere.json"]);
    let outcome = Outcome::of(command.env("IMAGEKILN_WEBHOOK_SECRET", SECRET).output().unwrap());
    assert_shown!("no_body", shown(&outcome.fails(1)));
}

/// With little memory, so that the program fails if it reads on.
#[cfg(target_os = "linux")]
#[test]
fn endless_files_are_not_read_completely() {
    let place = Place::new();
    place.write("body.json", BODY);
    let verify = |arguments: &str, code| {
        let line = format!("ulimit -v 4000000; exec \"$0\" webhook verify {arguments}");
        let mut command = place.command("sh");
        command
            .args(["-c", &line, env!("CARGO_BIN_EXE_kiln")])
            .env("IMAGEKILN_WEBHOOK_SECRET", SECRET);
        Outcome::of(command.output().unwrap()).fails(code).stderr
    };
    let secret = verify("body.json --secret-file /dev/zero", 2);
    assert!(secret.contains("is larger than 64 KiB"), "{secret}");
    let body = verify("/dev/zero", 9);
    assert!(body.contains("is larger than 1048576 bytes"), "{body}");
}
