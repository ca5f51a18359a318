//! Tests of the names of jobs for which the file sets none: an unchanged line keeps its name, so it
//! is not paid for again. And of the paths of pictures, as far as they are known in advance.

use std::collections::BTreeSet;

use super::*;

fn names(bench: &Bench, lines: &[&str]) -> Vec<String> {
    let jobs = bench.jobs("a.jsonl", lines.join("\n"));
    jobs.into_iter().map(|job| job.name).collect()
}

const A: &str = r#"{"prompt":"a","seed":1}"#;
const B: &str = r#"{"prompt":"b","seed":1}"#;
const C: &str = r#"{"prompt":"c","seed":1}"#;

#[test]
fn lines_can_be_added_removed_and_moved() {
    let bench = Bench::new();
    let [a, b] = names(&bench, &[A, B]).try_into().unwrap();
    assert_ne!(a, b);
    assert_eq!(names(&bench, &[C, "", B, A])[1..], [b.as_str(), &a]);
    assert_eq!(names(&bench, &[B]), [b.as_str()]);
    let reordered = r#"{ "seed": 1, "prompt": "b", "target": "b.png" }"#;
    assert_eq!(names(&bench, &[reordered]), [b]);
}

#[test]
fn a_changed_line_is_another_job() {
    let bench = Bench::new();
    let changed = [
        r#"{"prompt":"a","seed":2}"#,
        r#"{"prompt":"a"}"#,
        r#"{"prompt":"A","seed":1}"#,
        r#"{"prompt":"a","seed":1,"model":"gen-2-flex"}"#,
        r#"{"prompt":"a","seed":1,"width":64}"#,
    ];
    let all: BTreeSet<String> =
        changed.iter().chain(&[A]).flat_map(|line| names(&bench, &[line])).collect();
    assert_eq!(all.len(), 6);
    let wider = Bench::new().with("width", "64");
    assert_eq!(names(&wider, &[A]), names(&bench, &[changed[4]]));
}

#[test]
fn equal_lines_are_numbered() {
    let bench = Bench::new();
    let [a, b, a2, a3] = names(&bench, &[A, B, A, A]).try_into().unwrap();
    assert_eq!([&a2, &a3], [&format!("{a}-2"), &format!("{a}-3")]);
    assert_eq!(names(&bench, &[A, A, B]), [a, a2, b]);
}

#[test]
fn a_name_does_not_depend_on_the_folder() {
    let name = |bench: &Bench| {
        bench.write("cat.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x40\0\0\0\x40\x08\x02\0\0\0");
        names(bench, &[r#"{"prompt":"a","input_image":"cat.png"}"#])
    };
    assert_eq!(name(&Bench::new()), name(&Bench::new()));
}

#[test]
fn a_name_in_the_file_cannot_be_the_name_of_another_line() {
    let bench = Bench::new();
    let [a] = names(&bench, &[A]).try_into().unwrap();
    let named = format!(r#"{{"prompt":"b","name":"{a}"}}"#);
    let problems = bench.problems("a.jsonl", [A, &named].join("\n"));
    assert_eq!(problems, [format!("a.jsonl:2: name: `{a}` is the name of line 1 too")]);
}

#[test]
fn the_path_of_a_picture_is_known_as_far_as_possible() {
    let template = "{index:04}-{slug}-{seed}-{model}.{ext}";
    let mut bench = Bench::new();
    bench.defaults.target = template.to_owned();
    let paths = |lines: &[&str]| {
        let jobs = bench.jobs("a.jsonl", lines.join("\n"));
        jobs.iter().map(|job| job.expected_path(7).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(
        paths(&[
            A,
            r#"{"prompt":"b","output_format":"png"}"#,
            r#"{"prompt":"b","output_format":null}"#,
            r#"{"prompt":"b","target":"{id}/{name}.{ext}","name":"b"}"#,
            r#"{"prompt":"b","target":"b{{.tiff","name":"b2"}"#,
            r#"{"model":"gen-3-video","mode":"t2v"}"#,
        ]),
        [
            "0007-a-1-gen-2-pro.jpg",
            "0007-b-random-gen-2-pro.png",
            "0007-b-random-gen-2-pro.{ext}",
            "{id}/b.jpg",
            "b{.tiff",
            "0007-picture-random-gen-3-video.{ext}",
        ]
    );
}
