//! The ways to pass an image.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use image::{ImageFormat, Rgba, RgbaImage};

use crate::bench::{Bench, Outcome, encoded, png, small};
use imagekiln_testbed::picture;

#[test]
fn standard_input_is_read_for_one_image_only() {
    let bench = Bench::new();
    let words = small(&["edit", "a hat", "-"]);
    bench.run_with_stdin(&words, &png(72, 64)).ok();
    assert!(bench.last_request()["input_image"].as_str().unwrap().contains("72 x 64"));
    bench.run_with_stdin(&words, b"").fails(2).says("input_image: is empty");
    assert_eq!(bench.simulator.counts().accepted, 1);
}

#[test]
fn a_picture_of_the_history_is_an_image() {
    let bench = Bench::new();
    bench.run(&small(&["generate", "a fox", "-o", "fox.jpg"])).ok();
    bench.run(&small(&["edit", "in a storm", "@1"])).ok();
    assert!(bench.last_request()["input_image"].as_str().unwrap().contains("64 x 64"));
    bench.place.write("mask.png", png(64, 64));
    bench.run("tool erase @last --mask mask.png").ok();
    assert!(bench.last_request()["image"].as_str().unwrap().contains("64 x 64"));

    let accepted = bench.simulator.counts().accepted;
    bench.run(&small(&["task", "submit", "gen-2-pro", "--prompt", "a wolf"])).ok();
    bench.run("edit 'in a storm' @last").fails(2).says("the picture @last is not saved in a file");
    bench.run("edit 'in a storm' @99").fails(2).says("the history has no submission @99");
    // A file whose name begins like that comes first.
    bench.place.write("@99", png(80, 64));
    bench.run(&small(&["edit", "in a storm", "@99"])).ok();
    assert!(bench.last_request()["input_image"].as_str().unwrap().contains("80 x 64"));
    assert_eq!(bench.simulator.counts().accepted, accepted + 2);
}

#[test]
fn an_unlisted_field_accepts_an_image() {
    let bench = Bench::new();
    bench.place.write("person.png", png(64, 64));
    let line = "run gen-tools/vto-v1 --extra-image person=person.png --extra-image garment=-";
    bench.run_with_stdin(line, &png(80, 64)).ok();
    let request = bench.last_request();
    assert!(request["person"].as_str().unwrap().contains("64 x 64"), "{request}");
    assert!(request["garment"].as_str().unwrap().contains("80 x 64"), "{request}");
    // The model has all the images that it needs.
    let garments = r#"garments=["https://example.com/hat.png"]"#;
    let submit = ["task", "submit", "gen-tools/vto-v1", "--extra-image", "person=person.png"];
    bench.run(&[&submit[..], &["--extra", garments]].concat()).ok();
}

#[test]
fn a_data_url_is_an_image_and_other_data_is_not_printed() {
    let bench = Bench::new();
    let base64 = STANDARD.encode(png(88, 64));
    let url = format!("data:image/png;base64,{base64}");
    bench.run(&small(&["edit", "a hat", &url])).ok();
    assert!(bench.last_request()["input_image"].as_str().unwrap().contains("88 x 64"));
    bench.run(&small(&["edit", &url, "--prompt", "a hat", "-o", "pictures/", "--mkdir"])).ok();
    let unlisted = ["person", "garment"].map(|name| format!("{name}={url}"));
    let [person, garment] = &unlisted;
    bench.run(&["run", "gen-tools/vto-v1", "--extra-image", person, "--extra-image", garment]).ok();
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
        bench.shell(&line).fails(2).says("is larger than 128 MiB");
    }
    let outcome = bench.shell("ulimit -v 2000000; yes | kiln generate -").fails(2);
    outcome.says("is too long for a prompt");
    assert_eq!(bench.simulator.counts(), Default::default());
}

#[cfg(unix)]
#[test]
fn a_pipe_is_read_like_a_file() {
    let bench = Bench::new();
    bench.place.write("hat.png", png(64, 64));
    bench.shell("mkfifo pipe; cat hat.png > pipe & kiln edit 'a hat' pipe -s 64x64").ok();
    assert!(bench.last_request()["input_image"].as_str().unwrap().contains("64 x 64"));
}

#[cfg(unix)]
#[test]
fn a_path_need_not_be_unicode() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let bench = Bench::new();
    let name = OsStr::from_bytes(b"h\xffat.png");
    std::fs::write(bench.place.path("").join(name), png(64, 64)).unwrap();
    Outcome::of_run(bench.kiln("edit 'a hat' -s 64x64").arg(name)).ok();
}

/// A JPEG that viewers turn.
pub fn turned(orientation: u8, width: u32, height: u32) -> Vec<u8> {
    let jpeg = encoded(ImageFormat::Jpeg, width, height);
    let exif = b"\xff\xe1\0\x22Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0";
    [&jpeg[..2], exif, &[orientation, 0, 0, 0, 0, 0, 0, 0], &jpeg[2..]].concat()
}

#[test]
fn a_mask_for_what_viewers_show_does_not_fit_a_photo_that_is_stored_turned() {
    let bench = Bench::new();
    bench.place.write("photo.jpg", turned(8, 80, 120));
    bench.place.write("shown.png", png(120, 80));
    bench.place.write("stored.png", png(80, 120));
    let words = ["tool", "inpaint", "a hat", "photo.jpg", "--mask", "shown.png"];
    let outcome = bench.run(&words).fails(2);
    assert!(
        outcome.stderr.contains(
            "mask: is 120 x 80 pixels; must be 80 x 120 pixels as stored (EXIF orientation 8; \
             viewers show 120 x 80), like `image`"
        ) && outcome.stderr.contains("nothing was sent; --upright sends images as viewers show"),
        "{}",
        outcome.stderr
    );
    let plan = bench.run("edit 'a hat' photo.jpg --dry-run").ok().text();
    assert!(plan.contains("80 x 120 pixels as stored (EXIF orientation 8)"), "{plan}");
    assert_eq!(bench.simulator.counts().accepted, 0);

    bench.run(&[&words[..], &["--upright"]].concat()).ok();
    let image = bench.last_request()["image"].to_string();
    assert!(image.contains("120 x 80"), "{image}");
    assert_eq!(
        bench
            .run("tool inpaint 'a hat' photo.jpg --mask stored.png")
            .ok()
            .stderr
            .matches("--upright")
            .count(),
        0
    );
    // Upside down, both sizes fit.
    bench.place.write("photo.jpg", turned(3, 120, 80));
    let outcome = bench.run(&words).ok();
    assert!(outcome.stderr.contains("warning: `image` has the EXIF orientation 3"), "{outcome:?}");
    bench.place.write("photo.avif", b"\0\0\0\x18ftypavif\0\0\0\0avifmif1\0\0\0\x09irot\x01");
    let outcome = bench.run("edit 'a hat' photo.avif --upright").fails(2);
    assert!(outcome.stderr.contains("could not turn the image upright"), "{outcome:?}");
    assert_eq!(bench.simulator.counts().accepted, 3);
}

#[test]
fn a_mask_that_is_not_black_and_white_is_named_before_it_is_paid_for() {
    let bench = Bench::new();
    bench.place.write("photo.png", png(96, 72));
    let mask = |pixel: fn(u32) -> [u8; 4]| {
        picture::encoded(RgbaImage::from_fn(96, 72, |x, _| Rgba(pixel(x))), ImageFormat::Png)
    };
    let masks = [
        ("hole.png", mask(|x| [0, 0, 0, if x < 9 { 0 } else { 255 }]), "has transparent pixels"),
        ("black.png", mask(|_| [0, 0, 0, 255]), "is black everywhere"),
        ("white.png", mask(|_| [255; 4]), "is white everywhere"),
        ("photo.jpg", encoded(ImageFormat::Jpeg, 96, 72), "is in color"),
    ];
    let mut lines = String::new();
    for (name, mask, problem) in &masks {
        bench.place.write(name, mask);
        let line = format!("tool inpaint 'a hat' photo.png --mask {name}");
        bench.run(&line).fails(2).says(&format!("mask: {problem}"));
        let job = [("image", "photo.png"), ("mask", name), ("prompt", "a hat")];
        let job: serde_json::Map<_, _> =
            job.map(|(name, value)| (name.to_owned(), value.into())).into_iter().collect();
        lines += &format!("{}\n", serde_json::Value::Object(job));
    }
    bench.place.write("jobs.jsonl", lines);
    let run = ["batch", "run", "jobs.jsonl", "-o", "out", "--model", "gen-pro-1.0-fill"];
    let outcome = bench.run(&run).fails(2);
    for (line, (_, _, problem)) in (1..).zip(&masks) {
        let start = format!("jobs.jsonl:{line}: mask: {problem}");
        outcome.says(&start);
    }
    assert_eq!(bench.simulator.counts().accepted, 0);
    bench.run("tool inpaint 'a hat' photo.png --mask hole.png --any-mask").ok();
    bench.run(&[&run[..], &["--any-mask"]].concat()).ok();
    assert_eq!(bench.simulator.counts().accepted, 5);
}
