//! A scripted server on a free port that records every request.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    sync::{Arc, Mutex},
    thread,
};

use tokio::{
    net::TcpListener,
    sync::watch,
    task::{JoinHandle, JoinSet},
};

use super::{connection, done, received::Received, reply::Reply};

type Rule = Box<dyn Fn(&Received) -> Reply + Send + Sync>;

/// Responds in the order of the script. If the script has no response, the server closes the
/// connection without one. Unscripted requests and unused responses fail the test when the server
/// is dropped.
pub struct ScriptedServer {
    shared: Arc<Shared>,
    address: SocketAddr,
    accepting: JoinHandle<()>,
}

#[derive(Default)]
pub(super) struct Shared {
    script: Mutex<VecDeque<Reply>>,
    rule: Mutex<Option<Rule>>,
    received: watch::Sender<Vec<Received>>,
    unscripted: Mutex<Vec<String>>,
}

impl ScriptedServer {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        Self::on(listener)
    }

    pub fn on(listener: TcpListener) -> Self {
        let address = listener.local_addr().expect("a bound listener has an address");
        let shared = Arc::new(Shared::default());
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self { shared, address, accepting }
    }

    /// Adds a response to the script.
    pub fn reply(&self, reply: Reply) -> &Self {
        self.shared.script.lock().unwrap().push_back(reply);
        self
    }

    /// Sets the responses after the end of the script.
    pub fn otherwise(&self, rule: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> &Self {
        *self.shared.rule.lock().unwrap() = Some(Box::new(rule));
        self
    }

    /// Returns `127.0.0.1:PORT`.
    pub fn authority(&self) -> String {
        self.address.to_string()
    }

    pub fn url(&self, target: &str) -> String {
        format!("http://{}{target}", self.address)
    }

    /// Returns the requests so far, including incomplete ones.
    pub fn received(&self) -> Vec<Received> {
        self.shared.received.borrow().clone()
    }

    /// Returns the only request.
    pub fn only_request(&self) -> Received {
        let received = self.received();
        assert_eq!(received.len(), 1, "{:?}", lines(&received));
        received.into_iter().next().unwrap()
    }

    pub fn posts(&self) -> Vec<Received> {
        self.received().into_iter().filter(|request| request.method == "POST").collect()
    }

    pub fn polls(&self) -> Vec<Received> {
        self.received().into_iter().filter(|request| request.method == "GET").collect()
    }

    pub fn assert_received_nothing(&self) {
        assert_eq!(lines(&self.received()), Vec::<String>::new());
    }

    pub fn assert_every_request_has_the_key(&self) {
        self.received().iter().for_each(Received::assert_has_key);
    }

    pub fn assert_no_request_has_the_key(&self) {
        self.received().iter().for_each(Received::assert_has_no_key);
    }

    /// Waits until the headers of `count` requests have arrived.
    pub async fn wait_for_heads(&self, count: usize) {
        self.wait_for(|received| received.len() >= count).await;
    }

    /// Waits until `count` complete requests have arrived.
    pub async fn wait_for_requests(&self, count: usize) {
        self.wait_for(|received| {
            received.iter().filter(|request| request.complete).count() >= count
        })
        .await;
    }

    async fn wait_for(&self, condition: impl FnMut(&Vec<Received>) -> bool) {
        let mut received = self.shared.received.subscribe();
        done(received.wait_for(condition)).await.expect("the server holds the sender");
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.accepting.abort();
        if thread::panicking() {
            return;
        }
        let unscripted = self.shared.unscripted.lock().unwrap();
        assert!(unscripted.is_empty(), "unscripted requests: {unscripted:?}");
        let left = self.shared.script.lock().unwrap().len();
        assert_eq!(left, 0, "unused scripted replies");
    }
}

impl Shared {
    pub(super) fn reply_to(&self, request: &Received) -> Option<Reply> {
        let scripted = self.script.lock().unwrap().pop_front();
        let reply =
            scripted.or_else(|| self.rule.lock().unwrap().as_ref().map(|rule| rule(request)));
        if reply.is_none() {
            self.unscripted.lock().unwrap().push(line(request));
        }
        reply
    }

    /// Records a request before its body, and returns its index.
    pub(super) fn arrived(&self, request: Received) -> usize {
        let mut index = 0;
        self.received.send_modify(|received| {
            index = received.len();
            received.push(request);
        });
        index
    }

    pub(super) fn read(&self, index: usize, body: &[u8], length: usize) {
        self.received.send_modify(|received| {
            let request = &mut received[index];
            request.body.extend_from_slice(body);
            request.complete = request.body.len() == length;
        });
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    // Dropped with the server, which closes the connections.
    let mut connections = JoinSet::new();
    let mut number = 0;
    while let Ok((stream, _)) = listener.accept().await {
        number += 1;
        connections.spawn(connection::serve(stream, number, Arc::clone(&shared)));
    }
}

fn line(request: &Received) -> String {
    format!("{} {}", request.method, request.target)
}

fn lines(received: &[Received]) -> Vec<String> {
    received.iter().map(line).collect()
}
