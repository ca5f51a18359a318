//! Contact sheets of ledgers. The browser tests check what they look like.

use imagekiln_batch::{Filter, Job};
use imagekiln_testbed::Trial;

use crate::support::{Backend, Fixture, both, job};

pub fn tests() -> Vec<Trial> {
    both(a_sheet_shows_every_job)
}

async fn a_sheet_shows_every_job(backend: Backend) {
    let fixture = Fixture::new(backend).await;
    let ledger = fixture.ledger().await;
    let seeded = imagekiln::types::Gen2Pro::new("a red fox").seed(4711).width(64).height(64);
    let jobs = [
        Job::new("seeded", "a b/{seed}.{ext}", seeded),
        job("failed", "a <b>grey</b> fox [[error]]"),
        job("missing", "a white fox"),
    ];
    fixture.batch(&ledger).jobs(jobs).run().await.unwrap();
    std::fs::remove_file(fixture.output().join("missing.jpg")).unwrap();
    let sheet = async |filter: Filter| {
        let output = fixture.output();
        let html = ledger.write_sheet(Vec::new(), &filter, "Foxes", "today", &output);
        String::from_utf8(html.await.unwrap()).unwrap()
    };
    let html = sheet(Filter::all()).await;
    assert_eq!(html.matches("data:image/jpeg;base64,").count(), 1);
    for part in ["a red fox", "4711", "a%20b/4711.jpg", "&lt;b&gt;grey", "`Error`", "a white fox"] {
        assert!(html.contains(part), "{part}");
    }
    let html = sheet(Filter::all().name("seeded")).await;
    assert!(html.contains("4711.jpg") && !html.contains("a white fox"), "{html}");
}
