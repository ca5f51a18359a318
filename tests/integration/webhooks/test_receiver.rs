//! A listening receiver that records what its handler receives.

use std::net::SocketAddr;

use axum::Router;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::JoinSet,
};

use super::signed::{SECRET, SIGNATURE, hmac_header};
use crate::support::{
    done,
    samples::{self, fox, served},
    scripted::ScriptedServer,
};
use imagekiln::{
    Client, Error, Picture,
    webhook::{Receiver, Verifier},
};

pub struct TestReceiver {
    address: SocketAddr,
    outcomes: mpsc::UnboundedReceiver<Result<Picture, Error>>,
    _server: JoinSet<std::io::Result<()>>,
}

/// A service, its client, and a receiver for the client's tasks.
pub async fn setup() -> (ScriptedServer, Client, TestReceiver) {
    let (service, client) = served().await;
    let receiver = TestReceiver::of(Receiver::new(client.clone(), verifier())).await;
    (service, client, receiver)
}

pub fn verifier() -> Verifier {
    Verifier::hmac_sha256(SECRET)
}

/// Submits a task with a webhook, so that the receiver knows its polling URL.
pub async fn submit(client: &Client, service: &ScriptedServer, id: &str) {
    service.reply(samples::accepted(service, id));
    let _ = client.submit(fox().webhook_url("https://example.com/hook")).await.unwrap();
}

impl TestReceiver {
    /// Serves the receiver at `/hook`.
    pub async fn of(receiver: Receiver) -> Self {
        Self::behind(receiver, |router| Router::new().nest("/hook", router)).await
    }

    /// Serves the receiver behind the given routes, which must include `/hook`.
    pub async fn behind(receiver: Receiver, wrap: impl FnOnce(Router) -> Router) -> Self {
        let (sender, outcomes) = mpsc::unbounded_channel();
        let router = receiver.router(move |outcome| {
            let sender = sender.clone();
            async move { sender.send(outcome).expect("the test is running") }
        });
        Self::serving(wrap(router.unwrap()), outcomes).await
    }

    pub async fn serving(
        router: Router,
        outcomes: mpsc::UnboundedReceiver<Result<Picture, Error>>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, router).await });
        Self { address, outcomes, _server: server }
    }

    pub fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// Returns the next outcome that the handler receives.
    pub async fn outcome(&mut self) -> Result<Picture, Error> {
        done(self.outcomes.recv()).await.expect("the receiver holds the sender")
    }

    /// Whether the handler has received an outcome that the test has not read.
    pub fn was_called(&self) -> bool {
        !self.outcomes.is_empty()
    }

    /// Delivers a body signed with HMAC-SHA256, and returns the status code of the response.
    pub async fn deliver(&self, body: &str) -> u16 {
        let signature = hmac_header(SECRET, body.as_bytes());
        self.post("/hook", &format!("{SIGNATURE}: {signature}\r\n"), body).await
    }

    pub async fn post(&self, path: &str, headers: &str, body: &str) -> u16 {
        let length = body.len();
        let host = self.address;
        let head = format!("POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n");
        self.send(&format!("{head}{headers}\r\n{body}")).await
    }

    /// Sends raw bytes, and returns the status code of the response.
    pub async fn send(&self, request: &str) -> u16 {
        let mut connection = TcpStream::connect(self.address).await.unwrap();
        // A server that has read enough may close the connection early.
        let _ = connection.write_all(request.as_bytes()).await;
        let mut head = Vec::new();
        while head.len() < 12 {
            assert!(connection.read_buf(&mut head).await.unwrap() > 0, "no response");
        }
        String::from_utf8_lossy(&head[9..12]).parse().unwrap()
    }
}
