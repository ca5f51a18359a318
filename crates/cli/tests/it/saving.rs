//! The target and the format of saved pictures.

use image::ImageFormat;
use imagekiln::journal::{Directory, State};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::{
    bench::{Bench, fox, kind_of, small},
    tasks::SUBMIT,
};

#[test]
fn the_format_follows_the_file_extension() {
    let bench = Bench::new();
    for (file, kind, sent) in [
        ("a.png", ImageFormat::Png, json!("png")),
        ("a.JPG", ImageFormat::Jpeg, json!("jpeg")),
        ("a.webp", ImageFormat::WebP, json!("webp")),
        ("a.unknown", ImageFormat::Jpeg, json!(null)),
        ("plain", ImageFormat::Jpeg, json!(null)),
    ] {
        let outcome = bench.run(&small(&["generate", "a fox", "--output", file])).ok();
        assert_eq!(kind_of(&bench.place.read(file)), kind, "{file}");
        assert_eq!(bench.last_request()["output_format"], sent, "{file}");
        assert!(!outcome.stderr.contains("warning"), "{}", outcome.stderr);
    }
}

#[test]
fn an_explicit_format_overrides_the_file_extension() {
    let bench = Bench::new();
    for (file, saved, given) in [
        ("a.png", "a.webp", "--output-format webp"),
        ("b.png", "b.webp", "--extra output_format=webp"),
    ] {
        let outcome = bench.run(&format!("generate 'a fox' -s 64x64 -o {file} {given}")).ok();
        assert_eq!(outcome.text(), format!("{saved}\n"));
        assert_eq!(kind_of(&bench.place.read(saved)), ImageFormat::WebP);
        let stderr = outcome.stderr;
        assert!(stderr.contains("warning: the file extension asks for png"), "{stderr}");
        assert!(stderr.contains("warning: the picture is WebP, so its ending is .webp"));
    }
    let quiet = "generate 'a fox' -s 64x64 -o a.png --output-format webp --quiet";
    let quiet = bench.run(quiet).ok();
    assert_eq!((quiet.stderr.as_str(), quiet.text().as_str()), ("", "a-2.webp\n"));
    assert_eq!(bench.place.files(), ["a-2.webp", "a.webp", "b.webp"]);
}

#[test]
fn what_is_paid_for_is_saved_with_an_ending_that_no_model_produces() {
    let bench = Bench::new();
    let task = bench.run(&small(&["task", "submit", "gen-2-pro", "--prompt", "a fox"])).ok().text();
    let saved = bench.run(&["task", "save", task.trim(), "-o", "fox.gif"]).ok();
    assert_eq!(saved.text(), "fox.jpg\n");
}

#[test]
fn the_format_is_also_sent_to_a_model_whose_fields_are_not_all_shown() {
    let bench = Bench::new();
    let line = "run gen-2-klein-4b --extra width=64 --extra height=64 --seed=7 --output a.png";
    let outcome = bench.run(line).ok();
    let sent = json!({ "width": 64, "height": 64, "seed": 7, "output_format": "png" });
    assert_eq!(bench.last_request(), sent);
    assert!(!outcome.stderr.contains("does not match"), "{}", outcome.stderr);
}

#[test]
fn a_picture_without_a_name_is_named_after_its_prompt_task_and_format() {
    let bench = Bench::new();
    let outcome = bench.run(&small(&["generate", "a fox"])).ok();
    let id = bench.simulator.tasks()[0].id.clone();
    assert_eq!(outcome.text(), format!("a-fox-{}.jpg\n", &id[..8]));
    assert_eq!(kind_of(&bench.place.read(outcome.text().trim())), ImageFormat::Jpeg);
    // Saving the same task again does not replace the first file.
    let second = bench.run(&["task", "save", &id]).ok();
    assert_eq!(second.text(), format!("a-fox-{id}.jpg\n"));
    std::fs::remove_dir_all(bench.place.history()).unwrap();
    let third = bench.run(&["task", "save", &id]).ok();
    assert_eq!(third.text(), format!("picture-{}.jpg\n", &id[..8]));
    assert_eq!(bench.place.files().len(), 3);
}

#[test]
fn a_picture_saved_in_a_directory_gets_a_name() {
    let bench = Bench::new();
    std::fs::create_dir(bench.place.path("pictures")).unwrap();
    let line = "generate 'a fox' -s 64x64 --output pictures --output-format png";
    let outcome = bench.run(line).ok();
    assert!(outcome.text().starts_with("pictures/a-fox-") && outcome.text().ends_with(".png\n"));
    bench.place.read(outcome.text().trim());
}

#[test]
fn the_history_has_the_digest_of_each_file() {
    let bench = Bench::new();
    for output in ["fox.png", "."] {
        let outcome = bench.run(&small(&["generate", "a fox", "--output", output])).ok();
        let digest = Sha256::digest(bench.place.read(outcome.text().trim()));
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let record =
            Directory::list(bench.place.history()).unwrap().next().unwrap().unwrap().record;
        let State::Saved { sha256, .. } = record.state() else { panic!("{record:?}") };
        assert_eq!(sha256.as_ref(), Some(&digest));
    }
}

#[test]
fn an_existing_file_is_never_replaced() {
    let bench = Bench::new();
    bench.place.write("fox.png", "the old content");
    for saved in ["fox-2.png", "fox-3.png"] {
        let outcome = bench.run(&small(&["generate", "a fox", "--output", "fox.png"])).ok();
        assert_eq!(outcome.text(), format!("{saved}\n"));
        let warning = format!("warning: fox.png exists, so the picture is saved as {saved}");
        outcome.says(&warning);
        assert_eq!(kind_of(&bench.place.read(saved)), ImageFormat::Png);
    }
    assert_eq!(bench.place.read("fox.png"), b"the old content");
    assert_eq!(bench.place.files(), ["fox-2.png", "fox-3.png", "fox.png"]);
}

#[test]
fn overwrite_replaces_an_existing_file() {
    let bench = Bench::new();
    bench.place.write("fox.png", "the old content");
    let words = ["generate", "a fox", "--output", "fox.png", "--overwrite"];
    assert_eq!(bench.run(&small(&words)).ok().text(), "fox.png\n");
    assert_eq!(kind_of(&bench.place.read("fox.png")), ImageFormat::Png);
    // The history has the flag, too.
    bench.place.write("fox.png", "the old content");
    bench.run(&[&SUBMIT[..], &["-o", "fox.png", "--overwrite"]].concat()).ok();
    assert_eq!(bench.run("resume").ok().text(), "fox.png\n");
    assert_eq!(kind_of(&bench.place.read("fox.png")), ImageFormat::Png);
    assert_eq!(bench.place.files(), ["fox.png"]);
}

#[cfg(unix)]
#[test]
fn overwrite_keeps_links_and_permissions() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let bench = Bench::new();
    std::fs::create_dir(bench.place.path("pictures")).unwrap();
    bench.place.write("pictures/fox.png", "the old content");
    let file = bench.place.path("pictures/fox.png");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).unwrap();
    symlink("pictures/fox.png", bench.place.path("latest.png")).unwrap();
    let words = ["generate", "a fox", "--output", "latest.png", "--overwrite"];
    assert_eq!(bench.run(&small(&words)).ok().text(), "latest.png\n");
    assert!(bench.place.path("latest.png").is_symlink());
    assert_eq!(kind_of(&bench.place.read("pictures/fox.png")), ImageFormat::Png);
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    // Without the flag, the link is a name that is taken.
    assert_eq!(bench.run(&small(&words[..4])).ok().text(), "latest-2.png\n");
}

#[test]
fn mkdir_creates_missing_directories() {
    let bench = Bench::new();
    for (output, saved) in [("a/b/fox.png", "a/b/fox.png"), ("new/", "new/a-fox-")] {
        let words = small(&["generate", "a fox", "--output", output]);
        let refused = bench.run(&words);
        assert!(refused.stderr.contains("pass --mkdir to create the directory"), "{refused:?}");
        let outcome = bench.run(&[&words[..], &["--mkdir"]].concat()).ok();
        assert!(outcome.text().starts_with(saved), "{}", outcome.text());
        bench.place.read(outcome.text().trim());
    }
    assert_eq!(bench.simulator.counts().accepted, 2);
}

#[test]
fn standard_output_receives_only_the_picture() {
    let bench = Bench::new();
    let outcome = bench.run("generate 'a fox' -s 64x64 --output - --output-format png").ok();
    image::load_from_memory_with_format(&outcome.stdout, ImageFormat::Png).unwrap();
    assert_eq!(bench.place.files(), [""; 0]);
}

#[cfg(unix)]
#[test]
fn a_pipe_is_written_to_and_not_replaced() {
    use std::os::unix::fs::FileTypeExt;
    let bench = Bench::new();
    // Opened for reading and writing, so that neither side blocks. The picture fits into the pipe's
    // buffer.
    let make = "kiln generate 'a fox' -s 64x64 --output pipe; test -p pipe";
    bench.shell(&format!("mkfifo pipe; exec 3<>pipe; {make}; head -c 100 <&3 > head")).ok();
    assert_eq!(kind_of(&bench.place.read("head")), ImageFormat::Jpeg);
    assert!(std::fs::metadata(bench.place.path("pipe")).unwrap().file_type().is_fifo());
}

#[test]
fn names_that_are_too_long_are_refused_before_the_payment() {
    let bench = Bench::new();
    let long = format!("{}.png", "x".repeat(300));
    let deep = format!("{}/fox.png", "y/".repeat(2100));
    for words in [fox(&["-o", &long]), fox(&["-o", &deep, "--mkdir"])] {
        bench.run(&words).fails(1).says("advice: nothing was sent; pass another --output\n");
    }
    bench.run(&["task", "submit", "gen-2-pro", "--prompt", "a fox", "-o", &long]).fails(1);
    // A file where the directory of the second picture would be.
    bench.place.write("2", "");
    bench.run(&small(&["generate", "a fox", "-n", "2", "-o", "{index}/fox.png"])).fails(1);
    assert_eq!(bench.simulator.counts(), Default::default());
}

#[test]
fn names_that_become_too_long_are_shortened() {
    let bench = Bench::new();
    // The next free name has two more characters, and the ending of another format one more.
    let longest = format!("{}.png", "x".repeat(251));
    let save = |_| bench.run(&small(&["generate", "a fox", "-o", &longest])).ok().text();
    let paths: Vec<_> = (0..3).map(save).map(|path| path.trim().to_owned()).collect();
    assert_eq!(paths[0], longest);
    assert!(paths[1].len() < 255 && paths[2].len() < 255 && paths[1] != paths[2], "{paths:?}");
    let webp = small(&["generate", "a fox", "-o", &longest, "--output-format", "webp"]);
    let saved = bench.run(&webp).ok();
    assert!(saved.text().ends_with(".webp\n"), "{}", saved.text());
    saved.says("the name is too long, so it became xxx");
    // A name for a task that is paid for already.
    bench.run("task submit gen-2-pro --prompt 'a fox'").ok();
    let long = "y".repeat(300) + ".jpg";
    let saved = bench.run(&["task", "save", "@last", "-o", &long]).ok().text();
    assert!(saved.starts_with("yyy") && saved.ends_with(".jpg\n"), "{saved}");
    assert_eq!(bench.place.files().len(), 5);
}

#[test]
fn different_tasks_never_replace_each_other_in_a_template() {
    let bench = Bench::new();
    let output = "x".repeat(200) + "{id}.png";
    for _ in 0..2 {
        bench.run(&small(&["generate", "a fox", "-o", &output, "--overwrite"])).ok();
    }
    assert_eq!(bench.place.files().len(), 2);
}
