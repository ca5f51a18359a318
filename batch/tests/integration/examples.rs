//! The web application as a process that is killed and started again.

use std::{
    env,
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU8, Ordering},
    time::Duration,
};

use imagekiln::Client;
use imagekiln_batch::{Batch, JobState, Ledger, Resolution};
use imagekiln_simulator::{Config, Simulator, TaskView, WebhookSettings};
use imagekiln_testbed::{Runtime, Trial, name_of, test};
use tokio::{task, time};

use crate::support::open;

pub fn tests() -> Vec<Trial> {
    vec![
        test(name_of(&the_web_application), &[], Runtime::MultiThread, the_web_application),
        test(name_of(&bad_orders_cost_nothing), &[], Runtime::MultiThread, bad_orders_cost_nothing),
    ]
}

const ORDERS: usize = 8;

/// The faults that the web application has to survive.
const FAULTS: [&str; 6] = [
    "reply-lost:0.2",
    "error-after:0.1",
    "html-502@poll:0.1",
    "spurious-not-found:0.05",
    "truncated:0.1",
    "early-expiry:0.1",
];

/// An example in a directory, with a simulator.
struct Example {
    name: &'static str,
    simulator: Simulator,
    directory: tempfile::TempDir,
    /// The address at which the web application listens.
    address: String,
}

impl Example {
    async fn new(name: &'static str) -> Self {
        // The service repeats webhooks soon, because nobody receives them after a kill.
        let retry_after = [200, 500, 1000, 2000, 5000].map(Duration::from_millis).into();
        let webhooks = WebhookSettings { retry_after, ..WebhookSettings::default() };
        let config =
            Config { ready_after: Duration::from_millis(50), webhooks, ..Config::default() };
        let simulator = Simulator::start(config).await.unwrap();
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

/// However often the application is killed, each order is paid for and delivered once.
async fn the_web_application() {
    let example = Example::new("web_app").await;
    for fault in FAULTS {
        example.simulator.faults().add(fault).unwrap();
    }
    let mut server = example.serve().await;
    for number in 1..=ORDERS {
        let name = number.to_string();
        for _sent_twice in 0..2 {
            let form = [("name", &*name), ("prompt", &*name), ("image", "")];
            let (status, page) = example.order(&form).await;
            assert_eq!(status, 200, "{page}");
        }
        if number % 2 == 0 {
            time::sleep(Duration::from_millis(fastrand::u64(..300))).await;
            drop(server);
            server = example.serve().await;
        }
    }
    drop(server);
    example.simulator.faults().clear();
    // A person looks up what no webhook has found.
    let ledger = example.ledger("pictures.db").await;
    let client = Client::builder().api_key(example.simulator.api_key());
    let client = client.base_url(example.simulator.base_url());
    let batch = Batch::open(client, ledger.clone()).unwrap();
    for job in ledger.jobs().await.unwrap() {
        let is_it = |task: &TaskView| task.request["prompt"] == *job.name;
        let task = example.simulator.tasks().into_iter().find(is_it);
        match (job.state, task) {
            (JobState::Unknown, Some(task)) => {
                batch.resolve_with_task(&job.name, &task.id).await.unwrap();
            }
            (JobState::Unknown, None) => {
                ledger.resolve(&job.name, Resolution::NotPaid).await.unwrap();
            }
            _ => {}
        }
    }
    drop((batch, ledger));
    let server = example.serve().await;
    let paths = time::timeout(Duration::from_secs(60), example.pictures(ORDERS)).await.unwrap();
    for path in paths {
        let response = example.get(&path).await;
        assert_eq!(response.headers()["content-type"], "image/png");
        assert!(response.bytes().await.unwrap().starts_with(b"\x89PNG"));
    }
    assert_eq!(example.accepted(), ORDERS as u64);
    drop(server);
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
