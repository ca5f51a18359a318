//! Job files of `kiln batch`.

use std::collections::HashSet;

use imagekiln::Request;
use imagekiln_cli::fuzzing::{self, FileJob};
use imagekiln_label::Template;

/// The format is in the first line. All jobs are valid, can be stored, and have different names. A
/// blank line before them changes only their line numbers. What is wrong is printed safely.
pub fn job_file(data: &[u8]) {
    let Some(end) = data.iter().position(|byte| *byte == b'\n') else { return };
    let (format, file) = (&data[..end], &data[end + 1..]);
    let Ok(format) = str::from_utf8(format) else { return };
    let jobs = |file: &[u8]| fuzzing::job_file(format, file);
    let Some(read) = jobs(file) else { return };
    if !file.starts_with(b"\xef\xbb\xbf") {
        let moved = jobs(&[b"\n", file].concat()).expect("the format is known");
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
            return assert!(!error.contains(is_unsafe), "{error:?}");
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
