//! Images in job files.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use image::{GrayImage, ImageFormat};

use super::*;
use imagekiln::ImageInput;
use imagekiln_label::sha256;
use imagekiln_testbed::picture::encoded;

/// The first bytes of a PNG file of 64 x 64 pixels.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x40\0\0\0\x40\x08\x02\0\0\0";

fn line(image: &str) -> String {
    format!("{{\"prompt\":\"a\",\"input_image\":\"{image}\"}}")
}

#[test]
fn a_path_is_relative_to_the_job_file() {
    let bench = Bench::new();
    bench.write("cat.png", PNG);
    let jobs = bench.jobs("a.jsonl", line("cat.png"));
    let path = bench.folder.path().join("cat.png");
    assert!(path.is_absolute());
    let stored = format!("{{\"path\":\"{}\"}}", path.display());
    assert!(requests(&jobs)[0].contains(&stored), "{:?}", requests(&jobs));
    assert_eq!(jobs[0].request, bench.jobs("a.csv", "prompt,input_image\na,cat.png\n")[0].request);
}

#[test]
fn an_image_of_the_command_line_is_relative_to_the_current_directory() {
    let bench = Bench::new().with("input_image", "Cargo.toml");
    let problems = bench.problems("a.txt", "a");
    // The file was found, because the problem is only that it is not an image.
    assert!(problems[0].starts_with("a.txt:1: input_image: "), "{problems:?}");
    assert!(!problems[0].contains("could not read"), "{problems:?}");
}

#[test]
fn urls_stay_as_they_are() {
    for url in [
        "https://example.com/a.png",
        "HTTP://example.com/a.png",
        "data:image/png;base64,iVBORw0KGgo=",
    ] {
        let jobs = Bench::new().jobs("a.jsonl", line(url));
        let image = format!("\"input_image\":\"{url}\"");
        let stored = &requests(&jobs)[0];
        assert!(stored.contains(url), "{image} {stored}");
        assert!(!stored.contains("path"), "{stored}");
    }
}

#[test]
fn an_unreadable_image_is_reported_with_its_line() {
    let bench = Bench::new();
    bench.write("text.png", "text");
    let lines = ["cat.png", ".", "text.png", "ftp://example.com/a.png", "-"].map(line).join("\n");
    let problems = bench.problems("a.jsonl", lines);
    for (problem, start) in problems.iter().zip([
        "a.jsonl:1: input_image: could not read the image cat.png: ",
        "a.jsonl:2: input_image: . is not a file",
        "a.jsonl:3: input_image: ",
    ]) {
        assert!(problem.starts_with(start), "{problem}");
    }
    assert_eq!(problems.len(), 3);
    // Missing files are one kind of problem, whatever their names are.
    assert!(problems[0].ends_with(" (also on lines 4, 5)"), "{}", problems[0]);
}

#[test]
fn a_required_image_that_cannot_be_read_is_not_also_missing() {
    let line = r#"{"model":"gen-tools/deblur-v1","image":"cat.png"}"#;
    let problems = Bench::new().problems("a.jsonl", line);
    assert_eq!(problems.len(), 1, "{problems:?}");
}

#[test]
fn images_in_fields_that_the_contract_does_not_list() {
    let bench = Bench::new();
    bench.write("cat.png", PNG);
    let line =
        r#"{"model":"gen-tools/vto-v1","extra_images":{"person":"cat.png","garment":"cat.png"}}"#;
    let table =
        "model,extra_images.person,extra_images.garment\ngen-tools/vto-v1,cat.png,cat.png\n";
    let jobs = bench.jobs("a.jsonl", line);
    assert_eq!(jobs[0].request, bench.jobs("a.csv", table)[0].request);
    assert!(requests(&jobs)[0].contains("extra_images"), "{:?}", requests(&jobs));
    let line = r#"{"model":"gen-tools/vto-v1","extra_images":{"person":7}}"#;
    assert_eq!(bench.problems("a.jsonl", line), ["a.jsonl:1: person: must be an image"]);
}

/// A PNG of 64 x 96 pixels with an EXIF orientation: viewers show its left side at the top.
fn turned() -> Vec<u8> {
    let png = encoded(GrayImage::new(64, 96), ImageFormat::Png);
    let exif = b"\0\0\0\x16eXIfMM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
    [&png[..33], exif, &png[33..]].concat()
}

impl Bench {
    fn upright(mut self, folder: &Path, is_dry_run: bool) -> Self {
        self.defaults.upright = Some(Upright { folder: folder.to_owned(), is_dry_run });
        self
    }
}

#[test]
fn images_that_are_stored_turned_have_a_copy_by_the_content_of_the_original() {
    let bench = Bench::new();
    let folder = bench.folder.path().join("copies");
    let bench = bench.upright(&folder, false);
    let photo = bench.write("photo.png", turned());
    bench.write("same.png", turned());
    bench.write("cat.png", PNG);
    let bench = bench.with("input_image_2", photo.to_str().unwrap());
    let inline = format!("data:image/png;base64,{}", STANDARD.encode(turned()));
    let lines = ["photo.png", "same.png", &inline, "cat.png"].map(line).join("\n");
    let list = bench.read("a.jsonl", &lines).unwrap();
    assert_eq!(list.upright, 1);
    let copy = folder.join(format!("{}.png", sha256(&turned())));
    let image = |job: usize, field| list.jobs[job].request.image_in(field).unwrap().clone();
    for job in 0..3 {
        assert_eq!(image(job, "input_image"), ImageInput::path(&copy), "{job}");
    }
    assert_eq!(image(3, "input_image"), ImageInput::path(bench.folder.path().join("cat.png")));
    assert_eq!(image(3, "input_image_2"), ImageInput::path(&copy));
    let upright = image::load_from_memory(&fs::read(&copy).unwrap()).unwrap();
    assert_eq!((upright.width(), upright.height()), (96, 64));

    fs::remove_dir_all(&folder).unwrap();
    let bench = bench.upright(&folder, true);
    assert_eq!(bench.read("a.jsonl", &lines).unwrap(), list, "a dry run has the same jobs");
    assert!(!folder.exists());
}

#[test]
fn a_copy_that_cannot_be_written_is_a_problem() {
    let bench = Bench::new();
    bench.write("photo.png", turned());
    let folder = bench.write("copies", "").join("photos");
    let bench = bench.upright(&folder, false);
    let problems = bench.problems("a.jsonl", line("photo.png"));
    let start = "a.jsonl:1: input_image: could not turn the image photo.png upright: could not \
                 write to copies/photos: ";
    assert!(problems[0].starts_with(start), "{problems:?}");
}
