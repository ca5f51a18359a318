//! Recordings that the SDK makes of the simulator.

use std::sync::{Arc, Mutex};

use imagekiln::{
    Client, ClientBuilder, WaitOptions, operations,
    recording::Recording,
    types::{Gen2Pro, GenPro10Fill},
};
use imagekiln_simulator::{Config, Simulator};

use crate::program::Recordings;

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<Recording>>>);

impl Kept {
    fn recorder(&self) -> impl Fn(Recording) + use<> {
        let kept = Arc::clone(&self.0);
        move |recording| kept.lock().unwrap().push(recording)
    }

    fn builder(&self, simulator: &Simulator) -> ClientBuilder {
        Client::builder()
            .api_key(simulator.api_key())
            .base_url(simulator.base_url())
            .regional_base_url(simulator.regional_base_url())
            .recorder(self.recorder())
    }

    /// Asserts that the program finds nothing in more than `count` recordings.
    fn assert_conforming(&self, count: usize) {
        let recordings = Recordings::new();
        let kept = self.0.lock().unwrap();
        assert!(kept.len() > count, "{kept:?}");
        recordings.add_all(&kept);
        let outcome = recordings.check(&[]);
        assert_eq!(outcome.lines, [format!("recordings: {}, findings: 0", kept.len())]);
        assert_eq!((outcome.code, outcome.errors.as_str()), (0, ""));
    }
}

#[tokio::test(start_paused = true)]
async fn every_operation_conforms() {
    let simulator = Simulator::start(Config::default()).await.unwrap();
    let kept = Kept::default();
    let client = kept.builder(&simulator).build().unwrap();
    for operation in operations().iter().filter(|operation| operation.submits) {
        let task = client.submit(operation.example().unwrap()).await;
        let task = task.unwrap_or_else(|error| panic!("{operation}: {error}"));
        let _update = task.poll().await.unwrap();
    }
    kept.assert_conforming(2 * 28 - 1);
}

#[tokio::test(start_paused = true)]
async fn tasks_with_webhooks_conform_until_their_pictures_are_saved() {
    let simulator = Simulator::start(Config::default()).await.unwrap();
    let kept = Kept::default();
    let client = kept.builder(&simulator).webhook_url("http://127.0.0.1:9/hook?token=1");
    let client = client.webhook_secret("a webhook secret").build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    for prompt in ["a fox", "a fox [[content-moderated]]", "a fox [[error]]"] {
        let request = Gen2Pro::new(prompt).width(64).height(64);
        let task = client.submit(request).await.unwrap();
        let waited = task.wait_with(WaitOptions::default()).await;
        if let Ok(picture) = waited {
            picture.save(folder.path().join("fox.png")).await.unwrap();
        }
    }
    assert!(folder.path().join("fox.png").exists());
    kept.assert_conforming(6);
}

/// The service refuses what does not fit, as the contract says.
#[tokio::test(start_paused = true)]
async fn refused_requests_conform() {
    let simulator = Simulator::start(Config::default()).await.unwrap();
    let kept = Kept::default();
    let client = kept.builder(&simulator).validation(false).build().unwrap();
    let request = Gen2Pro::new("a fox").width(1).extra("seed", "seven");
    let error = client.submit(request).await.unwrap_err();
    assert_eq!(error.kind(), imagekiln::ErrorKind::Validation);
    let request = GenPro10Fill::new().image(b"not an image".to_vec());
    let error = client.submit(request).await.unwrap_err();
    assert_eq!(error.kind(), imagekiln::ErrorKind::Validation);
    let client = kept.builder(&simulator).api_key("another key").build().unwrap();
    assert_eq!(client.submit(Gen2Pro::new("a fox")).await.unwrap_err().status(), Some(403));
    kept.assert_conforming(2);
}
