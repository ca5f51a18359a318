//! `kiln webhook`: invalid settings and command lines.

use super::{
    listening::not_listening,
    signed::{BODY, SECRET, hmac_header},
    verify::{recorded, verify},
};
use crate::{
    assert_shown,
    bench::{Outcome, Place, Words as _},
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
        // Even without a secret, the settings are checked before anything is received.
        let mut listen = place.kiln(&format!("webhook listen {line}"));
        let listen = not_listening(&mut listen).fails(2);
        let verify = verify(BODY, &[hmac_header(BODY)], &line.words()).fails(2);
        assert_eq!(listen.stderr, verify.stderr);
        text += &format!("{line}\n{}\n\n", shown(&verify));
    }
    assert_shown!("scheme", text.trim_end());
    let json = not_listening(&mut place.kiln("webhook listen --max-age 60 --json"));
    let json = json.fails(2).error();
    assert_eq!((&json["kind"], &json["exit_code"]), (&"settings".into(), &2.into()));
}

#[test]
fn secrets_that_the_scheme_does_not_have() {
    let options = ["--scheme", "standard", "--id-header", "svix-id", "--secret-file", "standard"];
    let mut text = String::new();
    for secret in ["whsec_aGF0", "whsec_YS1zZWNyZXQtb2YtdGhlLXRlc3RzLg", "v1,whsec_aGF0"] {
        let (place, mut command) = recorded(BODY, &[hmac_header(BODY)], &options);
        place.write("standard", format!("\u{feff}{secret}"));
        let refused = Outcome::of_run(command.env_remove("IMAGEKILN_WEBHOOK_SECRET")).fails(2);
        text += &format!("{secret}\n{}\n\n", shown(&refused));
    }
    assert_shown!("standard_secret_file", text.trim_end());
}

#[cfg(unix)]
#[test]
fn a_secret_that_is_not_unicode_is_not_printed() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let (_place, mut command) = recorded(BODY, &[], &[]);
    command.env("IMAGEKILN_WEBHOOK_SECRET", OsStr::from_bytes(b"HUSH\xff"));
    let outcome = Outcome::of_run(&mut command).fails(2);
    assert_eq!(outcome.stderr, "error: IMAGEKILN_WEBHOOK_SECRET is not valid Unicode\n");
}

#[test]
fn invalid_headers_are_not_quoted() {
    for header in ["sha256=HUSH", "x y: HUSH", ": HUSH", "x: HUSH\nz: 1", "x: HUSH\u{7f}"] {
        let outcome = verify(BODY, &[hmac_header(BODY), header.to_owned()], &[]).fails(2);
        assert!(!outcome.stderr.contains("HUSH"), "{}", outcome.stderr);
        assert_shown!("bad_header", shown(&outcome));
    }
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
        Outcome::of_run(&mut command).fails(code).stderr
    };
    let secret = verify("body.json --secret-file /dev/zero", 2);
    assert!(secret.contains("is larger than 64 KiB"), "{secret}");
    let body = verify("/dev/zero", 9);
    assert!(body.contains("is larger than 1048576 bytes"), "{body}");
}
