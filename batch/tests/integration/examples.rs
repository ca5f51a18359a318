//! The examples as processes that are killed and started again.

use std::{
    env, fs,
    io::{self, BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU8, Ordering},
    time::Duration,
};

use imagekiln_batch::{Ledger, State};
use imagekiln_simulator::{Config, Simulator};
use imagekiln_testbed::{Runtime, Trial, name_of, test};
use tokio::{task, time};

use crate::support::open;

pub fn tests() -> Vec<Trial> {
    vec![
        test(name_of(&the_batch), &[], Runtime::MultiThread, the_batch),
        test(name_of(&the_web_application), &[], Runtime::MultiThread, the_web_application),
        test(name_of(&bad_orders_cost_nothing), &[], Runtime::MultiThread, bad_orders_cost_nothing),
    ]
}

/// An example in a directory, with a simulator.
struct Example {
    name: &'static str,
    simulator: Simulator,
    directory: tempfile::TempDir,
    /// Where the web application listens.
    address: String,
}

impl Example {
    async fn new(name: &'static str) -> Self {
        let simulator = Simulator::start(Config::default()).await.unwrap();
        static STARTED: AtomicU8 = AtomicU8::new(1);
        // Nobody else listens on this loopback address, so the port stays free across restarts.
        let [.., a, b] = std::process::id().to_be_bytes();
        let address = format!("127.{a}.{b}.{}:8000", STARTED.fetch_add(1, Ordering::Relaxed));
        Self { name, simulator, directory: tempfile::tempdir().unwrap(), address }
    }

    fn start(&self) -> Process {
        let webhooks = format!("http://{}/webhooks", self.address);
        let child = Command::new(program(self.name))
            .arg(&self.address)
            .current_dir(&self.directory)
            .env("IMAGEKILN_API_KEY", self.simulator.api_key())
            .env("IMAGEKILN_BASE_URL", self.simulator.base_url())
            .env("IMAGEKILN_WEBHOOK_URL", webhooks)
            .env("IMAGEKILN_WEBHOOK_SECRET", "a secret of the tests")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Process(child)
    }

    /// Starts the web application, and waits until it listens.
    async fn serve(&self) -> Process {
        let mut child = self.start();
        let mut output = BufReader::new(child.0.stdout.take().unwrap());
        let line = task::spawn_blocking(move || {
            let mut line = String::new();
            output.read_line(&mut line).unwrap();
            line
        });
        assert_eq!(line.await.unwrap().trim_end(), format!("http://{}", self.address));
        child
    }

    async fn ledger(&self, file: &str) -> Ledger {
        open(self.directory.path().join(file).to_str().unwrap()).await
    }

    fn accepted(&self) -> u64 {
        self.simulator.counts().accepted
    }

    async fn order(&self, form: &[(&str, &str)]) -> (u16, String) {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let url = format!("http://{}/pictures", self.address);
        let form_type = "application/x-www-form-urlencoded";
        let request = browser().post(url).header("content-type", form_type).body(body);
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }

    async fn get(&self, path: &str) -> reqwest::Response {
        browser().get(format!("http://{}{path}", self.address)).send().await.unwrap()
    }

    /// Waits until the page shows so many pictures, and returns their paths.
    async fn pictures(&self, count: usize) -> Vec<String> {
        loop {
            let page = self.get("/").await.text().await.unwrap();
            let paths: Vec<_> = page.split("src=\"").skip(1).collect();
            if paths.len() == count {
                let path = |text: &str| text.split('"').next().unwrap().to_owned();
                return paths.into_iter().map(path).collect();
            }
            time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn browser() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap()
}

/// Returns the path of an example, which Cargo builds for the tests.
fn program(name: &str) -> PathBuf {
    let tests = env::current_exe().unwrap();
    tests.ancestors().nth(2).unwrap().join("examples").join(name)
}

/// A process that is killed when the test ends.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // Fails only if it has already exited.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn the_batch() {
    let example = Example::new("prompts").await;
    let killed = example.start();
    while example.accepted() < 60 {
        time::sleep(Duration::from_millis(1)).await;
    }
    drop(killed);
    let mut resumed = example.start();
    // Reads what it prints, so that the pipe never fills up.
    let finish = move || {
        io::copy(resumed.0.stdout.as_mut().unwrap(), &mut io::sink()).unwrap();
        resumed.0.wait().unwrap()
    };
    assert!(task::spawn_blocking(finish).await.unwrap().success());
    let ledger = example.ledger("foxes.db").await;
    let report = ledger.report().await.unwrap();
    // The kill may have lost responses.
    let unknown = report.count(State::Unknown);
    assert_eq!(report.count(State::Saved), 200 - unknown, "{report}");
    assert!((200 - unknown..=200).contains(&example.accepted()), "{}", example.accepted());
    let pictures = fs::read_dir(example.directory.path().join("foxes")).unwrap();
    let is_picture = |path: &Path| path.extension().is_some_and(|extension| extension == "jpg");
    let pictures = pictures.filter(|file| is_picture(&file.as_ref().unwrap().path()));
    assert_eq!(pictures.count() as u64, 200 - unknown);
}

async fn the_web_application() {
    let example = Example::new("web_app").await;
    // No task becomes ready while the first process runs.
    example.simulator.clock().set_speed(0.0);
    let killed = example.serve().await;
    for (name, prompt) in [("1", "a red fox"), ("2", "a fox [[reply-lost]]"), ("1", "a red fox")] {
        let (status, page) =
            example.order(&[("name", name), ("prompt", prompt), ("image", "")]).await;
        assert_eq!(status, 200, "{page}");
    }
    while example.accepted() < 2 {
        time::sleep(Duration::from_millis(1)).await;
    }
    drop(killed);
    let resumed = example.serve().await;
    example.simulator.clock().set_speed(1.0);
    // The webhook finds the task whose response was lost.
    let paths = time::timeout(Duration::from_secs(60), example.pictures(2)).await.unwrap();
    for path in paths {
        let response = example.get(&path).await;
        assert_eq!(response.headers()["content-type"], "image/png");
        assert!(response.bytes().await.unwrap().starts_with(b"\x89PNG"));
    }
    assert_eq!(example.accepted(), 2);
    drop(resumed);
}

async fn bad_orders_cost_nothing() {
    let example = Example::new("web_app").await;
    let server = example.serve().await;
    for image in ["/etc/passwd", "file:///etc/passwd", "fox.png"] {
        let form = [("name", "1"), ("prompt", "a fox"), ("image", image)];
        assert_eq!(example.order(&form).await.0, 400);
    }
    let (status, page) = example.order(&[("name", ""), ("prompt", "a fox"), ("image", "")]).await;
    assert_eq!(status, 409, "{page}");
    for path in ["/pictures/..%2fpictures.db", "/pictures/nothing"] {
        assert_eq!(example.get(path).await.status().as_u16(), 404);
    }
    assert_eq!(example.accepted(), 0);
    drop(server);
}
