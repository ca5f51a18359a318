//! The ways to pass an image.

use base64::{Engine as _, engine::general_purpose::STANDARD};

use crate::bench::{Bench, png};

const SMALL: [&str; 4] = ["--width", "64", "--height", "64"];

#[test]
fn standard_input_is_read_for_one_image_only() {
    let bench = Bench::new();
    let words = [&["edit", "a hat", "-"][..], &SMALL].concat();
    bench.run_with_stdin(&words, &png(72, 64)).ok();
    assert!(bench.last_request()["input_image"].as_str().unwrap().contains("72 x 64"));

    let twice = [&["edit", "a hat", "-", "-"][..], &SMALL].concat();
    let outcome = bench.run_with_stdin(&twice, &png(72, 64)).fails(2);
    assert!(outcome.stderr.contains("standard input can be read only once"), "{}", outcome.stderr);
    let empty = bench.run_with_stdin(&words, b"").fails(2);
    assert!(empty.stderr.contains("input_image: is empty"), "{}", empty.stderr);
    assert_eq!(bench.simulator.counts().accepted, 1);
}

#[test]
fn an_unlisted_field_accepts_an_image() {
    let bench = Bench::new();
    bench.place.write("person.png", png(64, 64));
    let words = [
        "run",
        "gen-tools/vto-v1",
        "--extra-image",
        "person=person.png",
        "--extra-image",
        "garment=-",
    ];
    bench.run_with_stdin(&words, &png(80, 64)).ok();
    let request = bench.last_request();
    assert!(request["person"].as_str().unwrap().contains("64 x 64"), "{request}");
    assert!(request["garment"].as_str().unwrap().contains("80 x 64"), "{request}");
}

#[test]
fn a_data_url_is_an_image_and_other_data_is_not_printed() {
    let bench = Bench::new();
    let base64 = STANDARD.encode(png(88, 64));
    let url = format!("data:image/png;base64,{base64}");
    bench.run(&[&["edit", "a hat", &url][..], &SMALL].concat()).ok();
    assert!(bench.last_request()["input_image"].as_str().unwrap().contains("88 x 64"));
    let each = ["edit", &url, "--prompt", "a hat", "-o", "pictures/", "--mkdir"];
    bench.run(&[&each[..], &SMALL].concat()).ok();
    let unlisted = ["person", "garment"].map(|name| format!("{name}={url}"));
    let [person, garment] = &unlisted;
    bench
        .run(&["run", "gen-tools/vto-v1", "--extra-image", person, "--extra-image", garment])
        .ok();
    assert!(bench.last_request()["person"].as_str().unwrap().contains("88 x 64"));

    let wrong = [
        (url.as_str(), "cat.png", "is the name of an image"),
        ("a hat", "data:image/png,x", "must be `data:TYPE;base64,` followed by base64"),
        ("a hat", &base64, "could not read the image iVBOR"),
    ];
    for (prompt, image, problem) in wrong {
        let outcome = bench.run(&["edit", prompt, image]);
        assert_ne!(outcome.code, 0);
        let stderr = outcome.stderr;
        assert!(stderr.contains(problem) && stderr.len() < 700, "{stderr}");
    }
    assert_eq!(bench.simulator.counts().accepted, 3);
}

/// With little memory, so that the program fails if it reads on.
#[cfg(target_os = "linux")]
#[test]
fn an_image_from_a_pipe_or_a_device_has_a_limit() {
    let bench = Bench::new();
    for (source, image) in [("yes |", "-"), ("", "/dev/zero"), ("mkfifo p; yes > p &", "p")] {
        let line = format!("ulimit -v 2000000; {source} kiln edit 'a hat' {image}");
        let outcome = bench.shell(&line).fails(2);
        assert!(outcome.stderr.contains("is larger than 128 MiB"), "{}", outcome.stderr);
    }
    let outcome = bench.shell("ulimit -v 2000000; yes | kiln generate -").fails(2);
    assert!(outcome.stderr.contains("is too long for a prompt"), "{}", outcome.stderr);
    assert_eq!(bench.simulator.counts(), Default::default());
}

#[cfg(unix)]
#[test]
fn a_pipe_is_read_like_a_file() {
    let bench = Bench::new();
    bench.place.write("hat.png", png(64, 64));
    bench
        .shell("mkfifo pipe; cat hat.png > pipe & kiln edit 'a hat' pipe --width 64 --height 64")
        .ok();
    assert!(bench.last_request()["input_image"].as_str().unwrap().contains("64 x 64"));
}

#[test]
fn a_missing_file_is_reported_before_anything_is_sent() {
    let bench = Bench::new();
    for path in ["nowhere.png", "."] {
        let outcome = bench.run(&["edit", "a hat", path]).fails(1);
        assert!(
            outcome.stderr.contains("could not read the image")
                && outcome.stderr.contains("nothing was sent"),
            "{}",
            outcome.stderr
        );
    }
    let outcome =
        bench.run(&["edit", "a hat", "--model", "gen-dev", "https://example.com/a.png"]).fails(2);
    assert!(outcome.stderr.contains("must be the image itself, not a URL"), "{}", outcome.stderr);
    assert_eq!(bench.simulator.counts(), Default::default());
}

#[cfg(unix)]
#[test]
fn a_path_need_not_be_unicode() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let bench = Bench::new();
    let name = OsStr::from_bytes(b"h\xffat.png");
    std::fs::write(bench.place.path("").join(name), png(64, 64)).unwrap();
    let mut command = bench.kiln(&["edit", "a hat"]);
    command.arg(name).args(SMALL);
    crate::bench::Outcome::of(command.output().unwrap()).ok();
}
