//! The output, the names and the descriptions of pictures.

use std::{collections::HashSet, fs, path::Path};

use imagekiln::types::Gen2Pro;
use imagekiln_batch::{Batch, ErrorKind, Job, JobState, JobStatus};
use imagekiln_testbed::Trial;
use serde_json::Value;

use crate::support::{Backend, Fixture, all, both, chain, is_picture, job, reason, state};

pub fn tests() -> Vec<Vec<Trial>> {
    vec![
        both(a_template_names_the_picture),
        both(two_jobs_have_two_places),
        both(an_invalid_template_is_refused),
        both(a_picture_is_saved_once_its_description_is),
        both(the_record_of_a_saved_job_has_the_digest_of_its_description),
        both(an_output_that_cannot_be_used_costs_nothing),
        both(a_saved_picture_is_read_unless_it_was_removed),
    ]
}

async fn a_template_names_the_picture(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let request = |prompt: &str| Gen2Pro::new(prompt).width(64).height(64).seed(7);
    let jobs = [
        Job::new("one", "{model}/{date}/{index:03}-{slug}-{seed}.{ext}", request("A red fox!")),
        Job::new("../two", "{{{name}}}-{id}.{ext}", request("红色的狐狸")),
    ];
    fixture.batch(&ledger).jobs(jobs).run().await.unwrap();
    let two = ledger.jobs().get("../two").await.unwrap().unwrap();
    let two = format!("{{two}}-{}.jpg", two.task_id.unwrap());
    let one = ledger.jobs().get("one").await.unwrap().unwrap();
    let day = time_of(&one)[..10].to_owned();
    for name in [&format!("gen-2-pro/{day}/001-a-red-fox-7.jpg"), &two] {
        assert!(is_picture(fixture.output().join(name)), "{name}");
        assert!(fixture.output().join(format!("{name}.json")).is_file(), "{name}");
    }
    let top = fs::read_dir(fixture.output()).unwrap().count();
    assert_eq!(top, 4, "the marker, a directory, and the second picture with its description");
    // Although their names depend on their formats.
    assert_eq!(fixture.simulator.counts().delivered, 2, "each picture is fetched once");
}

/// When the job was submitted, in RFC 3339.
fn time_of(job: &JobStatus) -> String {
    let job = serde_json::to_value(job).unwrap();
    job["sent_at"].as_str().unwrap().to_owned()
}

/// Some filesystems do not distinguish upper case and lower case.
async fn two_jobs_have_two_places(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let request = || Gen2Pro::new("a fox").width(64).height(64).seed(7);
    let jobs =
        ["Fox-{seed}.jpg", "fox-{seed}.jpg"].map(|target| Job::new(target, target, request()));
    fixture.batch(&ledger).jobs(jobs).run().await.unwrap();
    assert_eq!(fixture.files(), [2, 2, 0], "pictures, descriptions, others");
    let places = all(&ledger).await.into_iter().map(|job| job.location.unwrap());
    let places: HashSet<_> = places.map(|place| place.to_lowercase()).collect();
    assert_eq!(places.len(), 2, "{places:?}");
}

async fn an_invalid_template_is_refused(backend: Backend) {
    let (_fixture, ledger) = Fixture::with_ledger(backend).await;
    let invalid = Job::new("fox", "{sed}.jpg", Gen2Pro::new("a fox"));
    let error = ledger.jobs().add([invalid]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Job);
    let error = chain(&error);
    assert!(error.contains("job `fox`") && error.contains("`sed` is not a field"), "{error}");
}

async fn the_record_of_a_saved_job_has_the_digest_of_its_description(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    fixture.batch(&ledger).jobs([job("fox", "a fox")]).run().await.unwrap();
    let description = fs::read(fixture.output().join("fox.jpg.json")).unwrap();
    let description: Value = serde_json::from_slice(&description).unwrap();
    let digest = description["picture"]["sha256"].as_str().unwrap();
    let closed = format!(
        "SELECT COUNT(*) FROM imagekiln.submissions
         WHERE state = 'settled' AND record LIKE '%\"saved\":%\"sha256\":\"{digest}\"%'"
    );
    assert_eq!(fixture.count(&closed).await, 1);
}

async fn a_picture_is_saved_once_its_description_is(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let description = fixture.output().join("fox.jpg.json");
    fs::create_dir_all(&description).unwrap();
    let mut batch = fixture.batch(&ledger).jobs([job("fox", "a fox")]);
    assert_eq!(batch.run().await.unwrap_err().kind(), ErrorKind::File);
    assert_eq!(state(&ledger, "fox").await, JobState::Ready);
    assert!(reason(&ledger, "fox").await.contains("fox.jpg.json"));
    let picture = fixture.output().join("fox.jpg");
    let written = fs::metadata(&picture).unwrap().modified().unwrap();

    // The next run saves other pictures elsewhere.
    fs::remove_dir(&description).unwrap();
    drop(batch);
    let ledger = fixture.reopen(ledger).await;
    let elsewhere = fixture.directory.path().join("elsewhere");
    fixture.batch(&ledger).save_to(&elsewhere).run().await.unwrap();
    assert_eq!((state(&ledger, "fox").await, fixture.accepted()), (JobState::Saved, 1));
    assert_eq!(fixture.files(), [1, 1, 0]);
    assert_eq!(fs::metadata(&picture).unwrap().modified().unwrap(), written);
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}

async fn an_output_that_cannot_be_used_costs_nothing(backend: Backend) {
    let fixture = Fixture::new(backend).await;
    let mut ledger = fixture.ledger().await;
    let file = fixture.directory.path().join("file");
    fs::write(&file, "").unwrap();
    for (output, expected) in outputs(&file) {
        let batch = Batch::open(fixture.client(), ledger.clone()).unwrap();
        let error = batch.jobs([job("fox", "a fox")]).save_to(output).run().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::File);
        let text = chain(&error);
        assert!(text.contains(expected), "{text}");
        assert_eq!(fixture.accepted(), 0);
        ledger = fixture.reopen(ledger).await;
    }
}

fn outputs(file: &Path) -> Vec<(std::path::PathBuf, &'static str)> {
    let mut outputs = vec![
        (file.join("pictures"), "check its permissions"),
        ("ftp://user:SECRET@foxes/a".into(), "ftp URLs are not supported"),
        ("s3://user:SECRET@foxes/a".into(), "it cannot contain credentials"),
    ];
    #[cfg(unix)]
    {
        let name = std::os::unix::ffi::OsStrExt::from_bytes(b"\xff");
        outputs.push((file.with_file_name::<&std::ffi::OsStr>(name), "not valid Unicode"));
    }
    #[cfg(not(feature = "s3"))]
    outputs.push(("s3://foxes".into(), "s3 URLs need the Cargo feature `s3`"));
    outputs
}

async fn a_saved_picture_is_read_unless_it_was_removed(backend: Backend) {
    let (fixture, ledger) = Fixture::with_ledger(backend).await;
    let jobs = [job("saved", "a red fox"), job("failed", "a grey fox [[error]]")];
    fixture.batch(&ledger).jobs(jobs).run().await.unwrap();
    let read =
        async |name| ledger.jobs().get(name).await.unwrap().unwrap().read_picture().await.unwrap();
    let path = fixture.output().join("saved.jpg");
    assert_eq!(read("saved").await, Some(fs::read(&path).unwrap()));
    fs::remove_file(path).unwrap();
    assert_eq!(read("saved").await, None);
    assert_eq!(read("failed").await, None);
}
