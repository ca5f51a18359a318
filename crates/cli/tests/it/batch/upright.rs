//! `kiln batch run --upright`.

use std::fs;

use crate::{
    assert_shown,
    bench::{Bench, Outcome, Place, png},
    images::turned,
};

/// Viewers show 120 x 80 pixels.
fn photo() -> Vec<u8> {
    turned(8, 80, 120)
}

const RUN: &str = "batch run jobs.csv --output pictures --size 64x64 --upright";

const COPIES: &str = "pictures/.kiln-batch.db.upright";

/// Two jobs with a photo that is stored turned, and one with an upright image.
fn jobs(place: &Place) {
    place.write("photo.jpg", photo());
    place.write("cat.png", png(96, 64));
    place.write(
        "jobs.csv",
        "prompt,input_image,input_image_2\na hat,photo.jpg,\na coat,cat.png,photo.jpg\n\
         a scarf,cat.png,\n",
    );
}

fn run(bench: &Bench, more: &str) -> Outcome {
    bench.run(&format!("{RUN} {more}"))
}

/// The images that the service received with each prompt.
fn received(bench: &Bench, prompt: &str) -> String {
    let tasks = bench.simulator.tasks();
    let task = tasks.iter().find(|task| task.request["prompt"] == prompt).unwrap();
    ["input_image", "input_image_2"].map(|name| task.request[name].to_string()).join(" ")
}

fn copies(place: &Place) -> Vec<String> {
    let names = fs::read_dir(place.path(COPIES)).unwrap().map(|entry| entry.unwrap().file_name());
    names.map(|name| name.into_string().unwrap()).collect()
}

#[test]
fn photos_are_sent_as_viewers_show_them_and_paid_for_once() {
    let bench = Bench::new();
    jobs(&bench.place);
    let outcome = run(&bench, "").ok();
    let note = format!("1 image is sent upright, from copies in {COPIES}\n");
    assert!(outcome.stderr.contains(&note), "{outcome:?}");
    assert!(received(&bench, "a hat").contains("120 x 80"), "{}", received(&bench, "a hat"));
    let both = received(&bench, "a coat");
    assert!(both.contains("96 x 64") && both.contains("120 x 80"), "{both}");
    assert_eq!(bench.place.read("photo.jpg"), photo());
    let first = copies(&bench.place);
    assert!(
        first.len() == 1 && first[0].len() == 64 + 4 && first[0].ends_with(".jpg"),
        "{first:?}"
    );

    run(&bench, "").ok();
    // The copies of jobs that have ended are not needed.
    fs::remove_dir_all(bench.place.path(COPIES)).unwrap();
    bench.run("batch run --output pictures").ok();
    run(&bench, "").ok();
    assert_eq!(copies(&bench.place), first);
    assert_eq!(bench.simulator.counts().accepted, 3);
    let status = bench.run("batch status --ledger pictures --json").ok().json();
    assert_eq!(status["jobs"], 3);
}

#[test]
fn a_dry_run_counts_the_images_and_writes_nothing() {
    let place = Place::new();
    jobs(&place);
    let before = place.files();
    let plan = place.run(&format!("{RUN} --dry-run")).ok().text();
    let line = format!("\n  1 image is sent upright, from copies in {COPIES}\n");
    assert!(plan.contains(&line), "{plan}");
    let plan = place.run(&format!("{RUN} --dry-run --json")).ok().json();
    assert_eq!((&plan["jobs"], &plan["upright"]), (&3.into(), &1.into()));
    assert_eq!(place.files(), before);
}

#[test]
fn an_image_that_cannot_be_turned_is_a_problem_of_its_line() {
    let bench = Bench::new();
    jobs(&bench.place);
    let photo = photo();
    bench.place.write("half.jpg", &photo[..photo.len() / 2]);
    bench.place.write("photo.avif", b"\0\0\0\x18ftypavif\0\0\0\0avifmif1\0\0\0\x09irot\x01");
    bench.place.write(
        "jobs.csv",
        "prompt,input_image\na cat,cat.png\na hat,half.jpg\na coat,photo.avif\na cap,half.jpg\n",
    );
    for more in ["", "--dry-run"] {
        let outcome = run(&bench, more).fails(2);
        let folder = bench.place.path("").display().to_string();
        assert_shown!("damaged", outcome.stderr.replace(&folder, "FOLDER/"));
    }
    assert_eq!(bench.simulator.counts().accepted, 0);
    assert!(!bench.place.path("pictures/.kiln-batch.db").exists());
}

#[test]
fn a_copy_that_was_deleted_while_its_job_waits_costs_nothing() {
    let bench = Bench::new();
    jobs(&bench.place);
    run(&bench, "--budget 0 --price 1").fails(10);
    fs::remove_dir_all(bench.place.path(COPIES)).unwrap();
    bench.run("batch run --output pictures").fails(4);
    let status = bench.run("batch status --ledger pictures --json").ok().json();
    for job in status["listed"].as_array().unwrap() {
        let reason = job["reason"].as_str().unwrap();
        assert!(reason.contains("could not read an image") && reason.contains(COPIES), "{job}");
        assert_eq!(job["submissions"], 0);
    }
    assert_eq!(bench.simulator.counts().accepted, 1);
    // Reading the jobs again writes the copies again.
    run(&bench, "").fails(4);
    bench.run("batch jobs retry --ledger pictures --state failed").ok();
    run(&bench, "").ok();
    assert_eq!(bench.simulator.counts().accepted, 3);
}

#[test]
fn masks_of_turned_photos_are_explained_and_fit_with_the_option() {
    let bench = Bench::new();
    bench.place.write("photo.jpg", photo());
    bench.place.write("upside-down.jpg", turned(3, 120, 80));
    bench.place.write("mask.png", png(120, 80));
    let list = |photos: &[&str]| {
        let lines = photos.iter().map(|photo| format!("a hat {photo},{photo},mask.png\n"));
        bench.place.write("jobs.csv", format!("prompt,image,mask\n{}", lines.collect::<String>()));
    };
    let model = ["batch", "run", "jobs.csv", "-o", "pictures", "--model", "gen-pro-1.0-fill"];
    let run = |more: &[&str]| bench.run(&[&model[..], more].concat());
    list(&["photo.jpg"]);
    let outcome = run(&["--dry-run"]).fails(2);
    assert!(
        outcome.stderr.ends_with(
            "advice: nothing was sent; correct the lines, and run the command again; --upright \
             sends images as viewers show them\n"
        ),
        "{outcome:?}"
    );
    run(&["--dry-run", "--upright"]).ok();
    list(&["upside-down.jpg", "./upside-down.jpg"]);
    let outcome = run(&["--dry-run"]).ok();
    assert_eq!(
        outcome.stderr,
        "warning: jobs.csv:2: `image` has the EXIF orientation 3 and `mask` has 1 (also in 1 other \
         job): if the mask was drawn on what viewers show, pass --upright\n"
    );
    assert_eq!(run(&["--dry-run", "--upright"]).ok().stderr, "");
    list(&["photo.jpg", "upside-down.jpg"]);
    run(&["--upright"]).ok();
    assert_eq!(bench.simulator.counts().accepted, 2);
}
