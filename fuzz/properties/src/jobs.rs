//! Job files of `kiln batch`.

use std::collections::HashSet;

use imagekiln::Request;
use imagekiln_batch::Template;
use imagekiln_cli::fuzzing::{FORMATS, Job, jobs};

/// The format is in the first line. All jobs are valid, can be stored, and have different names. A
/// blank line before them changes only their line numbers. What is wrong is printed safely.
pub fn job_file(data: &[u8]) {
    let Some(end) = data.iter().position(|byte| *byte == b'\n') else { return };
    let (format, file) = (&data[..end], &data[end + 1..]);
    let Some(format) = FORMATS.into_iter().find(|name| name.as_bytes() == format) else { return };
    let read = jobs(format, file);
    if !file.starts_with(b"\xef\xbb\xbf") {
        let moved = jobs(format, &[b"\n", file].concat());
        assert_eq!(read.is_ok(), moved.is_ok(), "{read:?} {moved:?}");
        if let (Ok(read), Ok(moved)) = (&read, moved) {
            let up = |job: Job| Job { line: job.line - 1, ..job };
            assert_eq!(*read, moved.into_iter().map(up).collect::<Vec<_>>());
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
    for Job { line, name, target, request } in jobs {
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
