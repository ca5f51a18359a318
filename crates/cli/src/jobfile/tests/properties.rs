//! Properties that hold for every job file.

use std::fmt::Write as _;

use proptest::{collection::vec, option, prelude::*};
use serde_json::{Map, Value};

use super::*;

fn read_bytes(format: Format, bytes: &[u8], defaults: &Defaults) -> Result<Vec<FileJob>, Failure> {
    read_from(bytes, ("stdin", Path::new("")), format, defaults).map(|list| list.jobs)
}

const COLUMNS: [&str; 6] = ["prompt", "seed", "width", "disable_pup", "name", "model"];

/// The members of a job.
fn members() -> impl Strategy<Value = Map<String, Value>> {
    let model =
        option::of(prop_oneof![Just("gen-2-pro"), Just("gen_2_pro"), Just("gen-2-nothing")]);
    let name = option::of("[a-c]");
    (
        "(?s)[^\0]{1,20}",
        option::of(any::<i64>()),
        option::of(0..200_u32),
        option::of(any::<bool>()),
        name,
        model,
    )
        .prop_map(|(prompt, seed, width, pup, name, model)| {
            let values: [Option<Value>; 6] = [
                Some(prompt.into()),
                seed.map(Value::from),
                width.map(Value::from),
                pup.map(Value::from),
                name.map(Value::from),
                model.map(Value::from),
            ];
            let members = COLUMNS.into_iter().zip(values);
            members.filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
        })
}

fn as_jsonl(jobs: &[Map<String, Value>]) -> String {
    jobs.iter().fold(String::new(), |mut text, job| {
        writeln!(text, "{}", Value::Object(job.clone())).unwrap();
        text
    })
}

fn as_csv(jobs: &[Map<String, Value>]) -> Vec<u8> {
    let mut csv = ::csv::Writer::from_writer(Vec::new());
    csv.write_record(COLUMNS).unwrap();
    for job in jobs {
        let cell = |name| match job.get(name) {
            None => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
        };
        csv.write_record(COLUMNS.map(cell)).unwrap();
    }
    csv.into_inner().unwrap()
}

/// The messages without the numbers of lines, which differ between the formats.
fn messages(failure: &Failure) -> Vec<String> {
    let messages = failure.problems.iter().map(|problem| problem.message.as_str());
    let start = |text: &'_ str| text.split(" is the name").next().unwrap_or_default().to_owned();
    messages.filter_map(|text| text.split(" (also on").next()).map(start).collect()
}

proptest! {
    #[test]
    fn csv_and_json_lines_describe_the_same_jobs(jobs in vec(members(), 1..6)) {
        let defaults = Bench::new().defaults;
        let json = read_bytes(Format::Jsonl, as_jsonl(&jobs).as_bytes(), &defaults);
        let csv = read_bytes(Format::Csv, &as_csv(&jobs), &defaults);
        match (json, csv) {
            (Ok(json), Ok(csv)) => {
                let without_line = |jobs: Vec<FileJob>| -> Vec<FileJob> {
                    jobs.into_iter().map(|job| FileJob { line: 0, ..job }).collect()
                };
                prop_assert_eq!(without_line(json), without_line(csv));
            }
            (Err(json), Err(csv)) => {
                prop_assert_eq!(messages(&json), messages(&csv));
            }
            (json, csv) => prop_assert!(false, "{:?} {:?}", json, csv),
        }
    }

    #[test]
    fn a_line_number_is_that_of_the_record(
        prompts in vec("(?s)[^\0]{0,8}[a-z]", 1..6),
        crlf: bool,
    ) {
        let ending = if crlf { "\r\n" } else { "\n" };
        let mut text = format!("prompt{ending}");
        let mut lines = Vec::new();
        for prompt in &prompts {
            text += ending;
            lines.push(1 + text.matches('\n').count() as u64);
            text += &format!("\"{}\"{ending}", prompt.replace('"', "\"\""));
        }
        let jobs = read_bytes(Format::Csv, text.as_bytes(), &Bench::new().defaults).unwrap();
        prop_assert_eq!(super::lines(&jobs), lines);
        let read = jobs.iter().map(|job| job.request.clone());
        let written = prompts.iter().map(|prompt| {
            Request::new(find_model("gen-2-pro").unwrap()).field("prompt", prompt)
        });
        prop_assert_eq!(read.collect::<Vec<_>>(), written.collect::<Vec<_>>());
    }

    #[test]
    fn reading_never_panics(bytes: Vec<u8>, text in "(?s)[\\PC\n\r\",]{0,80}") {
        let defaults = Bench::new().defaults;
        let header = [b"prompt,model,seed\n".as_slice(), text.as_bytes()].concat();
        for bytes in [bytes.as_slice(), text.as_bytes(), &header] {
            for format in [Format::Jsonl, Format::Csv, Format::Tsv, Format::Text] {
                let _ = read_bytes(format, bytes, &defaults);
            }
        }
    }

    #[test]
    fn lines_in_another_order_have_the_same_names(jobs in vec(members(), 1..6)) {
        let defaults = Bench::new().defaults;
        let mut reversed = jobs.clone();
        reversed.reverse();
        let names = |jobs: &[Map<String, Value>]| {
            let jobs = read_bytes(Format::Jsonl, as_jsonl(jobs).as_bytes(), &defaults).ok()?;
            let mut names: Vec<String> = jobs.into_iter().map(|job| job.name).collect();
            names.sort();
            Some(names)
        };
        prop_assert_eq!(names(&jobs), names(&reversed));
    }
}
