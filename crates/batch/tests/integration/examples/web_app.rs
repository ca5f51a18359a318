//! The web application: what its users see, and what they pay.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader},
    ops::RangeInclusive,
    sync::atomic::{AtomicU8, Ordering},
    thread,
    time::Duration,
};

use imagekiln_batch::{JobState, Ledger, Resolution};
use imagekiln_simulator::TaskView;
use imagekiln_testbed::{
    Runtime, Trial,
    browser::{BROWSER, Browser},
    name_of, test,
};
use serde_json::Value;
use tokio::{sync::oneshot, task, time};

use super::{FAULTS, Process, command, fixture, path_of};
use crate::support::{Backend, Fixture, all, open};

pub fn tests() -> Vec<Trial> {
    let sqlite = &[];
    let postgres = Backend::Postgres.requirements();
    let threads = Runtime::MultiThread;
    vec![
        test(name_of(&orders_survive_kills), sqlite, threads, orders_survive_kills),
        test(name_of(&processes_share_orders), postgres, threads, processes_share_orders),
        test(name_of(&the_others_continue), postgres, threads, the_others_continue),
        test(name_of(&the_page_follows_changes), &[BROWSER], threads, the_page_follows_changes),
        test(name_of(&a_budget_is_for_each_user), sqlite, threads, a_budget_is_for_each_user),
        test(name_of(&bad_orders_cost_nothing), sqlite, threads, bad_orders_cost_nothing),
    ]
}

/// The longest time for all pictures: a lease of a killed process, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(150);

/// A process of the web application.
struct Server {
    process: Option<Process>,
    address: String,
    ledger: Option<String>,
    credits: &'static str,
}

impl Server {
    /// Starts the web application, and waits until it listens.
    async fn start(fixture: &Fixture, backend: Backend, credits: &'static str) -> Self {
        static STARTED: AtomicU8 = AtomicU8::new(1);
        // Nobody else listens on this loopback address, so the port stays free across restarts.
        let [.., a, b] = std::process::id().to_be_bytes();
        let address = format!("127.{a}.{b}.{}:8000", STARTED.fetch_add(1, Ordering::Relaxed));
        let ledger = (backend == Backend::Postgres).then(|| fixture.ledger_name());
        let mut server = Self { process: None, address, ledger, credits };
        server.restart(fixture).await;
        server
    }

    fn kill(&mut self) {
        self.process = None;
    }

    /// Kills the process, and starts it again.
    async fn restart(&mut self, fixture: &Fixture) {
        self.kill();
        let mut command = command("web_app", fixture);
        command
            .arg(&self.address)
            .args(&self.ledger)
            .env("CREDITS_PER_USER", self.credits)
            .env("IMAGEKILN_WEBHOOK_URL", format!("http://{}/webhooks", self.address))
            .env("IMAGEKILN_WEBHOOK_SECRET", "a secret of the tests");
        let mut process = Process::start(&mut command);
        let output = BufReader::new(process.0.stdout.take().unwrap());
        let (sender, line) = oneshot::channel();
        // Reads to the end, so that the process can print its report.
        thread::spawn(move || {
            let mut lines = output.lines();
            sender.send(lines.next().unwrap().unwrap()).unwrap();
            lines.for_each(drop);
        });
        assert_eq!(line.await.unwrap(), format!("http://{}", self.address));
        self.process = Some(process);
    }

    async fn order(&self, user: &str, form: &[(&str, &str)]) -> (u16, String) {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let url = format!("http://{}/users/{user}/", self.address);
        let form_type = "application/x-www-form-urlencoded";
        let request = browser().post(url).header("content-type", form_type).body(body);
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }

    /// Sends the form with this number, which is also the prompt.
    async fn order_picture(&self, user: &str, number: usize) {
        let number = number.to_string();
        let form = [("number", &*number), ("prompt", &*number), ("image", "")];
        let (status, page) = self.order(user, &form).await;
        assert_eq!(status, 200, "{page}");
        assert!(page.contains("new EventSource"), "{page}");
    }

    async fn get(&self, path: &str) -> reqwest::Response {
        browser().get(format!("http://{}{path}", self.address)).send().await.unwrap()
    }

    /// Connects to the stream of a user.
    async fn changes(&self, user: &str, after: &str) -> Changes {
        let response = self.get(&format!("/users/{user}/changes{after}")).await;
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Changes { response, unread: Vec::new(), items: BTreeMap::new() }
    }

    /// Waits until a user sees so many pictures, and downloads them.
    async fn pictures(&self, user: &str, count: usize) {
        let mut changes = self.changes(user, "").await;
        changes.until(|items| count_of(items, JobState::Saved) == count).await;
        for item in changes.items.values() {
            let path = format!("/users/{user}/pictures/{}", item["order"]["number"]);
            let response = self.get(&path).await;
            assert_eq!(response.headers()["content-type"], "image/png");
            assert!(response.bytes().await.unwrap().starts_with(b"\x89PNG"));
        }
    }
}

/// The stream of a page, and its last items.
struct Changes {
    response: reqwest::Response,
    unread: Vec<u8>,
    items: BTreeMap<u64, Value>,
}

impl Changes {
    async fn until(&mut self, is_enough: impl Fn(&BTreeMap<u64, Value>) -> bool) {
        let read = async {
            while !is_enough(&self.items) {
                let chunk = self.response.chunk().await.unwrap().expect("the stream has ended");
                self.unread.extend(chunk);
                while let Some(end) = self.unread.windows(2).position(|bytes| bytes == b"\n\n") {
                    let event: Vec<_> = self.unread.drain(..end + 2).collect();
                    let event = String::from_utf8(event).unwrap();
                    // The others keep the connection alive.
                    let Some(data) = event.strip_prefix("data: ") else { continue };
                    let item: Value = serde_json::from_str(data).unwrap();
                    self.items.insert(item["id"].as_u64().unwrap(), item);
                }
            }
        };
        let ended = time::timeout(PATIENCE, read).await;
        assert!(ended.is_ok(), "{:?}", self.items);
    }
}

fn count_of(items: &BTreeMap<u64, Value>, state: JobState) -> usize {
    items.values().filter(|item| item["state"] == state.as_str()).count()
}

fn browser() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap()
}

/// A person looks up what no webhook has found.
async fn resolve_unknown(fixture: &Fixture, ledger: Ledger) {
    let batch = fixture.batch(&ledger);
    for job in all(&ledger).await {
        let prompt = job.metadata.unwrap()["prompt"].clone();
        let is_it = |task: &TaskView| task.request["prompt"] == prompt;
        let task = fixture.simulator.tasks().into_iter().find(is_it);
        match (job.state, task) {
            (JobState::Unknown, Some(task)) => {
                batch.resolve_with_task(&job.name, &task.id).await.unwrap();
            }
            (JobState::Unknown, None) => {
                ledger.jobs().resolve(&job.name, Resolution::NotPaid).await.unwrap();
            }
            _ => {}
        }
    }
}

/// However often the application is killed, each order is paid for and delivered once.
async fn orders_survive_kills() {
    const ORDERS: usize = 8;
    let fixture = fixture(Backend::Sqlite, Duration::from_millis(50)).await;
    for fault in FAULTS {
        fixture.simulator.faults().add(fault).unwrap();
    }
    let mut server = Server::start(&fixture, Backend::Sqlite, "1000").await;
    for number in 1..=ORDERS {
        for _sent_twice in 0..2 {
            server.order_picture("anna", number).await;
        }
        if number % 2 == 0 {
            time::sleep(Duration::from_millis(fastrand::u64(..300))).await;
            server.restart(&fixture).await;
        }
    }
    server.kill();
    fixture.simulator.faults().clear();
    resolve_unknown(&fixture, open(&path_of(&fixture, "pictures.db")).await).await;
    server.restart(&fixture).await;
    server.pictures("anna", ORDERS).await;
    assert_eq!(fixture.accepted(), ORDERS as u64);
    server.process.take().unwrap().stop();
}

/// A page follows the changes by another process, and shows only the jobs of its user.
async fn processes_share_orders() {
    let fixture = fixture(Backend::Postgres, Duration::from_millis(50)).await;
    let one = Server::start(&fixture, Backend::Postgres, "1000").await;
    let mut other = Server::start(&fixture, Backend::Postgres, "1000").await;
    let mut of_anna = other.changes("anna", "").await;
    let mut of_ben = other.changes("ben", "").await;
    one.order_picture("anna", 1).await;
    of_anna.until(|items| count_of(items, JobState::Saved) == 1).await;
    other.order_picture("ben", 2).await;
    of_ben.until(|items| count_of(items, JobState::Saved) == 1).await;
    let numbers = |changes: &Changes| {
        changes.items.values().map(|item| item["order"]["number"].clone()).collect::<Vec<_>>()
    };
    assert_eq!((numbers(&of_anna), numbers(&of_ben)), (vec![1.into()], vec![2.into()]));
    one.pictures("ben", 1).await;
    other.pictures("anna", 1).await;
    for path in ["/users/ben/pictures/1", "/users/anna/pictures/2", "/users/carl/pictures/1"] {
        assert_eq!(other.get(path).await.status().as_u16(), 404, "{path}");
    }
    assert_eq!(fixture.accepted(), 2);
    // An open stream does not keep the application from stopping.
    let process = other.process.take().unwrap();
    task::spawn_blocking(|| process.stop()).await.unwrap();
    assert!(of_anna.response.chunk().await.is_ok_and(|chunk| chunk.is_none()));
}

/// If a process is killed, the others deliver its orders.
async fn the_others_continue() {
    const ORDERS: usize = 12;
    let fixture = fixture(Backend::Postgres, Duration::from_millis(200)).await;
    let mut killed = Server::start(&fixture, Backend::Postgres, "1000").await;
    let other = Server::start(&fixture, Backend::Postgres, "1000").await;
    for number in 1..=ORDERS {
        killed.order_picture("anna", number).await;
        if number % 4 == 0 {
            time::sleep(Duration::from_millis(fastrand::u64(..300))).await;
            killed.restart(&fixture).await;
        }
    }
    killed.kill();
    // Until the leases of the killed processes expire.
    let ended = [JobState::Saved, JobState::Unknown].map(|state| state.as_str());
    let is_ended = |item: &Value| ended.iter().any(|state| item["state"] == *state);
    let mut changes = other.changes("anna", "").await;
    changes.until(|items| items.len() == ORDERS && items.values().all(is_ended)).await;
    // Nothing is on its way any more.
    fixture.execute("UPDATE imagekiln.submissions SET hold_until = NULL").await;
    resolve_unknown(&fixture, open(&fixture.ledger_name()).await).await;
    other.pictures("anna", ORDERS).await;
    assert_eq!(fixture.accepted(), ORDERS as u64);
}

/// What users write is text, whatever it looks like.
async fn the_page_follows_changes() {
    const PROMPT: &str = "<img src=x onerror='window.caught = 1'> \"fox\" & wolf";
    let fixture = fixture(Backend::Sqlite, Duration::from_millis(200)).await;
    let server = Server::start(&fixture, Backend::Sqlite, "5").await;
    Browser::with(async |browser| {
        browser.open(&format!("http://{}/users/anna%2Fx/", server.address)).await;
        let order = format!("document.forms[0].prompt.value = {}", serde_json::json!(PROMPT));
        browser.run(&order).await;
        browser.click("button").await;
        let alt = "[...document.images].find(it => it.naturalWidth > 0)?.alt";
        assert_eq!(browser.wait(alt).await, PROMPT);
        browser.run(&order).await;
        browser.click("button").await;
        let refused = "[...document.querySelectorAll('li')].map(it => it.textContent) \
                       .find(text => text.includes('is used up'))";
        let text = browser.wait(refused).await;
        assert!(text.as_str().unwrap().starts_with(&format!("{PROMPT}: queued: the budget")));
        assert_eq!(browser.run("return window.caught ?? null").await, Value::Null);
        assert_eq!(browser.run("return document.querySelectorAll('li').length").await, 2);
    })
    .await;
    assert_eq!(fixture.accepted(), 1);
}

async fn a_budget_is_for_each_user() {
    let fixture = fixture(Backend::Sqlite, Duration::from_millis(50)).await;
    let server = Server::start(&fixture, Backend::Sqlite, "9").await;
    for number in 1..=52 {
        server.order_picture("anna", number).await;
    }
    let mut of_anna = server.changes("anna", "").await;
    // A page also tells changes of pictures that are not on it.
    let refused = |items: &BTreeMap<u64, Value>, page: RangeInclusive<u64>| {
        let reasons = items.range(page).filter_map(|(_, item)| item["reason"].as_str());
        reasons.filter(|reason| reason.starts_with("the budget of the group `anna`")).count()
    };
    let is_ended = |items: &BTreeMap<u64, Value>| {
        (refused(items, 1..=50), count_of(items, JobState::Saved)) == (48, 2)
    };
    of_anna.until(is_ended).await;
    // The list of the next page starts after the last number of this one.
    let mut next = server.changes("anna", "?50").await;
    next.until(|items| refused(items, 51..=52) == 2).await;
    server.order_picture("ben", 1).await;
    server.pictures("ben", 1).await;
    assert_eq!(fixture.accepted(), 3);
}

async fn bad_orders_cost_nothing() {
    let fixture = fixture(Backend::Sqlite, Duration::ZERO).await;
    let server = Server::start(&fixture, Backend::Sqlite, "1000").await;
    for image in ["/etc/passwd", "file:///etc/passwd", "fox.png"] {
        let form = [("number", "1"), ("prompt", "a fox"), ("image", image)];
        assert_eq!(server.order("anna", &form).await.0, 400);
    }
    for (number, status) in [("", 422), ("../1", 422)] {
        let form = [("number", number), ("prompt", "a fox"), ("image", "")];
        assert_eq!(server.order("anna", &form).await.0, status);
    }
    let user = "a".repeat(201);
    let form = [("number", "1"), ("prompt", "a fox"), ("image", "")];
    assert_eq!(server.order(&user, &form).await.0, 409);
    for path in ["..%2fpictures.db", "nothing", "1"] {
        let response = server.get(&format!("/users/anna/pictures/{path}")).await;
        assert!([400, 404].contains(&response.status().as_u16()), "{path}");
    }
    assert_eq!(fixture.accepted(), 0);
}
