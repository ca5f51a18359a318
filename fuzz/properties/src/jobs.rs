//! Job files of the batch.

use std::collections::HashSet;

use imagekiln::Request;
use imagekiln_batch::{
    Template,
    files::{Defaults, Error, FileJob, Format, read_from},
};

fn jobs(format: Format, file: &[u8]) -> Result<Vec<FileJob>, Error> {
    let model = imagekiln::find_model("gen-2-pro").expect("a model of the contract");
    read_from(file, "stdin", format, &Defaults::new(model)).map(|list| list.jobs)
}

/// The format is in the first line. All jobs are valid, can be stored, and have different names. A
/// blank line before them changes only their line numbers. What is wrong is printed safely.
pub fn job_file(data: &[u8]) {
    let Some(end) = data.iter().position(|byte| *byte == b'\n') else { return };
    let (format, file) = (&data[..end], &data[end + 1..]);
    let format = str::from_utf8(format).ok().and_then(Format::named);
    let Some(format) = format else { return };
    let read = jobs(format, file);
    if !file.starts_with(b"\xef\xbb\xbf") {
        let moved = jobs(format, &[b"\n", file].concat());
        assert_eq!(read.is_ok(), moved.is_ok(), "{read:?} {moved:?}");
        if let (Ok(read), Ok(mut moved)) = (&read, moved) {
            moved.iter_mut().for_each(|job| job.line -= 1);
            assert_eq!(*read, moved);
        }
    }
    let jobs = match read {
        Ok(jobs) => jobs,
        Err(error) => {
            let is_unsafe = |c: char| c.is_control() && c != '\n';
            return assert!(!error.to_string().contains(is_unsafe), "{error:?}");
        }
    };
    let lines = file.iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
    let mut names = HashSet::new();
    for FileJob { line, name, target, request, .. } in jobs {
        assert!((1..=lines).contains(&line), "line {line} of {lines}");
        assert!(Template::parse(&target).is_ok(), "{target}");
        request.validate().expect("a job is valid");
        let stored = request.to_json().expect("a job can be stored");
        if !request.has_field("webhook_secret") {
            assert_eq!(Request::from_json(&stored).expect("a stored request"), request);
        }
        assert!(names.insert(name));
    }
}
