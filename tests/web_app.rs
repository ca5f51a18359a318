//! The example application, in a browser's place: its form, its pictures, and what it resumes.

#[path = "../examples/web_app/app.rs"]
mod app;

use std::{path::Path, sync::Arc, time::Duration};

use imagekiln::{Client, journal::FileJournal};
use imagekiln_simulator::{Config, Simulator};
use reqwest::StatusCode;
use tokio::{net::TcpListener, runtime::Runtime, time};

/// The application, until its runtime ends.
struct Running {
    address: String,
}

impl Running {
    async fn start(simulator: &Simulator, folder: &Path) -> Self {
        let client = Client::builder()
            .api_key(simulator.api_key())
            .base_url(simulator.base_url())
            .journal(FileJournal::open(folder.join("journal.jsonl")).unwrap())
            .build()
            .unwrap();
        let app = app::router(client, folder.to_owned()).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { address }
    }

    async fn order(&self, form: &[(&str, &str)]) -> (StatusCode, String) {
        let browser = reqwest::Client::builder().no_proxy().build().unwrap();
        let url = format!("{}/pictures", self.address);
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let form_type = "application/x-www-form-urlencoded";
        let request = browser.post(url).header("content-type", form_type).body(body);
        let response = request.send().await.unwrap();
        (response.status(), response.text().await.unwrap())
    }

    async fn get(&self, path: &str) -> reqwest::Response {
        let browser = reqwest::Client::builder().no_proxy().build().unwrap();
        browser.get(format!("{}{path}", self.address)).send().await.unwrap()
    }

    async fn page(&self) -> String {
        self.get("/").await.text().await.unwrap()
    }

    /// The paths of the pictures, once there are so many.
    async fn pictures(&self, count: usize) -> Vec<String> {
        let looking = async {
            loop {
                let page = self.page().await;
                let paths: Vec<_> = page.split("src=\"").skip(1).collect();
                if paths.len() == count {
                    let path = |text: &str| text.split('"').next().unwrap().to_owned();
                    return paths.into_iter().map(path).collect();
                }
                time::sleep(Duration::from_millis(50)).await;
            }
        };
        time::timeout(Duration::from_secs(60), looking).await.expect("the pictures are made")
    }
}

async fn simulator() -> Simulator {
    Simulator::start(Config::default()).await.unwrap()
}

#[tokio::test]
async fn a_form_becomes_a_picture_on_the_page() {
    let (simulator, folder) = (simulator().await, tempfile::tempdir().unwrap());
    let app = Running::start(&simulator, folder.path()).await;
    let (status, page) =
        app.order(&[("prompt", "a red fox"), ("image", "https://example.com/fox.png")]).await;
    assert_eq!(status, StatusCode::OK, "{page}");
    let [path] = app.pictures(1).await.try_into().unwrap();
    let response = app.get(&path).await;
    assert_eq!(response.headers()["content-type"], "image/png");
    assert!(response.bytes().await.unwrap().starts_with(b"\x89PNG"));
    assert_eq!(app.get("/pictures/journal.jsonl").await.status(), StatusCode::NOT_FOUND);
    let outside = app.get("/pictures/..%2f..%2fetc%2fpasswd").await;
    assert_eq!(outside.status(), StatusCode::NOT_FOUND);
}

/// Text of a form never names a file of the machine that runs the application.
#[tokio::test]
async fn a_path_in_the_form_is_refused_and_nothing_is_sent() {
    let (simulator, folder) = (simulator().await, tempfile::tempdir().unwrap());
    let app = Running::start(&simulator, folder.path()).await;
    for image in ["/etc/passwd", "file:///etc/passwd", "fox.png"] {
        let (status, page) = app.order(&[("prompt", "a fox"), ("image", image)]).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{page}");
    }
    assert_eq!(simulator.counts().accepted, 0);
}

#[tokio::test]
async fn a_failure_is_shown_without_advice_for_operators() {
    let (simulator, folder) = (simulator().await, tempfile::tempdir().unwrap());
    let app = Running::start(&simulator, folder.path()).await;
    simulator.faults().add("error-before:once").unwrap();
    let (status, page) = app.order(&[("prompt", "a fox"), ("image", "")]).await;
    assert_eq!(status, StatusCode::BAD_GATEWAY);
    assert!(page.contains("submission failed"), "{page}");
    assert!(!page.contains("usage"), "the advice is not for users: {page}");
}

#[tokio::test]
async fn what_was_submitted_before_a_crash_is_resumed() {
    let simulator = Arc::new(simulator().await);
    let folder = Arc::new(tempfile::tempdir().unwrap());
    // No task becomes ready while the first application runs.
    simulator.clock().set_speed(0.0);
    let process = Runtime::new().unwrap();
    let first = {
        let (simulator, folder) = (Arc::clone(&simulator), Arc::clone(&folder));
        process.spawn(async move { Running::start(&simulator, folder.path()).await })
    };
    let first = first.await.unwrap();
    first.order(&[("prompt", "a red fox"), ("image", "")]).await;
    assert!(first.page().await.contains("waiting"));
    // The crash: nothing of the first application is left but its folder.
    tokio::task::spawn_blocking(move || drop(process)).await.unwrap();
    simulator.clock().set_speed(1.0);

    let second = Running::start(&simulator, folder.path()).await;

    let [path] = second.pictures(1).await.try_into().unwrap();
    assert_eq!(second.get(&path).await.status(), StatusCode::OK);
    assert_eq!(simulator.counts().accepted, 1, "the picture was paid once");
}
