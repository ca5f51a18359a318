//! A receiver of webhooks on loopback, whose responses the test controls.

use std::net::{Ipv4Addr, SocketAddr};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Request, State},
    http::{HeaderMap, StatusCode},
    response::Response,
};
use http_body_util::BodyExt as _;
use serde_json::Value;
use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot},
};

pub struct Receiver {
    pub address: SocketAddr,
    hits: mpsc::UnboundedReceiver<Hit>,
}

/// A request that waits for its response.
pub struct Hit {
    pub path_and_query: String,
    pub headers: HeaderMap,
    pub body: Bytes,
    reply: oneshot::Sender<Response>,
}

impl Receiver {
    pub async fn start() -> Self {
        Self::at(Ipv4Addr::LOCALHOST).await
    }

    /// A receiver that listens on all addresses of this machine.
    pub async fn start_everywhere() -> Self {
        Self::at(Ipv4Addr::UNSPECIFIED).await
    }

    async fn at(ip: Ipv4Addr) -> Self {
        let listener = TcpListener::bind((ip, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, hits) = mpsc::unbounded_channel();
        let router = Router::new().fallback(take).with_state(sender);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, hits }
    }

    pub fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// The next request, whenever it arrives.
    pub async fn hit(&mut self) -> Hit {
        self.hits.recv().await.unwrap()
    }

    /// Responds to the next request with a status code.
    pub async fn respond_with(&mut self, status: u16) -> Hit {
        let mut hit = self.hit().await;
        let (unused, _) = oneshot::channel();
        let reply = std::mem::replace(&mut hit.reply, unused);
        reply.send(response(status)).unwrap();
        hit
    }

    /// Whether a request is waiting.
    pub fn has_been_hit(&self) -> bool {
        !self.hits.is_empty()
    }
}

impl Hit {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// Waits until the sender has closed the connection without a response.
    pub async fn broken_off(mut self) {
        self.reply.closed().await;
    }

    pub fn respond(self, response: Response) {
        self.reply.send(response).unwrap();
    }
}

pub fn response(status: u16) -> Response {
    let mut response = Response::new(Body::from("the receiver's response"));
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response
}

async fn take(State(hits): State<mpsc::UnboundedSender<Hit>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let (reply, replied) = oneshot::channel();
    let path_and_query = head.uri.path_and_query().unwrap().to_string();
    let hit = Hit { path_and_query, headers: head.headers, body, reply };
    if hits.send(hit).is_err() {
        return response(500);
    }
    // If a test drops the request, the receiver never responds.
    match replied.await {
        Ok(response) => response,
        Err(_) => std::future::pending().await,
    }
}
