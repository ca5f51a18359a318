//! A small submission, against reqwest that serializes the same request, sends the key, and reads
//! the id from the response.

use imagekiln::{Client, types::Gen2Pro};
use serde_json::Value;
use tokio::runtime::Runtime;

use super::{
    measure::{Candidate, Plan, compare},
    server::Server,
};

pub fn run(runtime: &Runtime, server: &Server) {
    let (client, bare) = (client(server), Bare::new(server));
    let (client, bare) = (&client, &bare);
    let ours = Candidate::new("imagekiln", |operations| async move {
        for _ in 0..operations {
            let _task = client.submit(request()).await.unwrap();
        }
    });
    let theirs = Candidate::new("reqwest", |operations| async move {
        for _ in 0..operations {
            bare.submit(serde_json::to_vec(&request()).unwrap().into()).await;
        }
    });
    compare(runtime, "submission", Plan::new(15, 4000), &[ours, theirs]);
}

fn request() -> Gen2Pro {
    Gen2Pro::new("a red fox in the snow").width(1024).height(768).seed(7)
}

pub fn client(server: &Server) -> Client {
    Client::builder().api_key("key").base_url(&*server.url).build().unwrap()
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
