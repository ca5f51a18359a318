//! A small submission, against reqwest that serializes the same request, sends the key, and reads
//! the id from the response. And 64 at once with a journal, against the same without one. Over TLS,
//! each submission of imagekiln has a connection of its own, as with the second reqwest. The first
//! one keeps its connection.

use futures_util::future::join_all;
use imagekiln::{Client, ClientBuilder, journal::Directory, types::Gen2Pro};
use serde_json::Value;
use tokio::runtime::Runtime;

use super::{
    measure::{Candidate, Plan, compare},
    server::Server,
};

pub fn run(runtime: &Runtime, server: &Server) {
    let (client, bare) = (client(server), Bare::new(server));
    let candidates = [ours(&client), theirs("reqwest", &bare)];
    compare(runtime, "submission", Plan::new(15, 4000), &candidates);

    // Each round has its own journal. They are removed at the end, because a file system may take
    // long to create files after it has removed many. One in memory would flush nothing.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path();
    let journal = Candidate::new("journal", |operations| async move {
        let folder = path.join(fastrand::u64(..).to_string());
        let journal = Directory::open(folder).unwrap();
        submit_at_once(builder(server).journal(journal), operations).await;
    });
    let without =
        Candidate::new("without", |operations| submit_at_once(builder(server), operations));
    compare(runtime, "submission.64", Plan::new(15, 2048), &[journal, without]);
}

pub fn run_tls(runtime: &Runtime, server: &Server) {
    let (client, kept) = (client(server), Bare::new(server));
    let closed = reqwest::Client::builder().pool_max_idle_per_host(0).build().unwrap();
    let closed = Bare { http: closed, url: kept.url.clone() };
    let candidates =
        [ours(&client), theirs("reqwest", &kept), theirs("reqwest_without_reuse", &closed)];
    compare(runtime, "submission_tls", Plan::new(15, 1000), &candidates);
}

fn ours(client: &Client) -> Candidate<'_> {
    Candidate::new("imagekiln", move |operations| async move {
        for _ in 0..operations {
            let _task = client.submit(request()).await.unwrap();
        }
    })
}

fn theirs<'a>(name: &'static str, bare: &'a Bare) -> Candidate<'a> {
    Candidate::new(name, move |operations| async move {
        for _ in 0..operations {
            bare.submit(serde_json::to_vec(&request()).unwrap().into()).await;
        }
    })
}

/// How many submissions are under way at the same time.
const AT_ONCE: u32 = 64;

async fn submit_at_once(builder: ClientBuilder, operations: u32) {
    let client = builder.build().unwrap();
    let submit = async || {
        for _ in 0..operations.div_ceil(AT_ONCE) {
            let _task = client.submit(request()).await.unwrap();
        }
    };
    join_all((0..AT_ONCE).map(|_| submit())).await;
}

fn builder(server: &Server) -> ClientBuilder {
    Client::builder().api_key("key").base_url(&*server.url)
}

fn request() -> Gen2Pro {
    Gen2Pro::new("a red fox in the snow").width(1024).height(768).seed(7)
}

pub fn client(server: &Server) -> Client {
    builder(server).build().unwrap()
}

/// reqwest, as a careful program uses it.
pub struct Bare {
    http: reqwest::Client,
    url: String,
}

impl Bare {
    pub fn new(server: &Server) -> Self {
        Self { http: reqwest::Client::new(), url: format!("{}/v1/gen-2-pro", server.url) }
    }

    pub async fn submit(&self, body: reqwest::Body) -> String {
        let request = self.http.post(&self.url).header("x-key", "key").body(body);
        let request = request.header("content-type", "application/json");
        let response = request.send().await.unwrap().error_for_status().unwrap();
        let body = response.bytes().await.unwrap();
        let document: Value = serde_json::from_slice(&body).unwrap();
        document["id"].as_str().unwrap().to_owned()
    }
}
