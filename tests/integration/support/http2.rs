//! An HTTP/2 server over TLS that can stop responding or reading, or close its connections.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bytes::Bytes;
use h2::{Reason, server::SendResponse};
use http::Response;
use rcgen::{CertifiedKey, KeyPair};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{mpsc, watch},
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, pki_types::PrivateKeyDer},
    server::TlsStream,
};

/// The server's handling of the next request, in the order of arrival.
pub enum Step {
    Reply(Value),
    /// The stream stays open without a response.
    NeverRespond,
    /// Refuses the stream with `REFUSED_STREAM`.
    Refuse,
    /// Stops reading and writing on this connection, including ping responses.
    Freeze,
}

pub struct Http2Server {
    port: u16,
    shared: Arc<Shared>,
    steps: mpsc::UnboundedSender<Step>,
    requests: watch::Receiver<Vec<usize>>,
}

/// A certificate for `127.0.0.1` and its key.
pub fn certificate() -> CertifiedKey<KeyPair> {
    rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])
        .expect("a certificate for this host")
}

impl Http2Server {
    pub async fn start(certificate: &CertifiedKey<KeyPair>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("a bound listener has an address").port();
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let key = PrivateKeyDer::Pkcs8(certificate.signing_key.serialize_der().into());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| {
                builder
                    .with_no_client_auth()
                    .with_single_cert(vec![certificate.cert.der().clone()], key)
            })
            .expect("the certificate fits its key");
        config.alpn_protocols = vec![b"h2".to_vec()];
        let (steps, script) = mpsc::unbounded_channel();
        let (seen, requests) = watch::channel(Vec::new());
        let script = tokio::sync::Mutex::new(script);
        let shared = Arc::new(Shared { script, seen, going_away: AtomicUsize::new(0) });
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let accepting = Arc::clone(&shared);
        tokio::spawn(async move {
            let mut number = 0;
            while let Ok((stream, _)) = listener.accept().await {
                number += 1;
                // The system may hold back small frames for a moment, which a paused clock would
                // skip.
                stream.set_nodelay(true).expect("a TCP stream");
                tokio::spawn(serve(acceptor.clone(), stream, number, Arc::clone(&accepting)));
            }
        });
        Self { port, shared, steps, requests }
    }

    pub fn url(&self, target: &str) -> String {
        format!("https://127.0.0.1:{}{target}", self.port)
    }

    pub fn then(&self, step: Step) -> &Self {
        self.steps.send(step).expect("the server runs");
        self
    }

    /// Makes the first connection shut down after a request has arrived, and report that it
    /// processed none.
    pub fn goes_away_first(&self) -> &Self {
        self.shared.going_away.store(1, Ordering::Relaxed);
        self
    }

    /// Returns the number of the connection of every request.
    pub fn connections(&self) -> Vec<usize> {
        self.requests.borrow().clone()
    }

    pub async fn wait_for_requests(&self, count: usize) {
        let mut requests = self.requests.clone();
        super::done(requests.wait_for(|seen| seen.len() >= count)).await.expect("the server runs");
    }
}

struct Shared {
    script: tokio::sync::Mutex<mpsc::UnboundedReceiver<Step>>,
    /// The number of the connection of every request.
    seen: watch::Sender<Vec<usize>>,
    /// The number of connections that go away, starting with the first.
    going_away: AtomicUsize,
}

async fn serve(acceptor: TlsAcceptor, stream: TcpStream, number: usize, shared: Arc<Shared>) {
    let Ok(stream) = acceptor.accept(stream).await else { return };
    // Written by hand, because a library would accept the request first.
    if number <= shared.going_away.load(Ordering::Relaxed) {
        return go_away(stream, number, &shared).await;
    }
    let Ok(mut connection) = h2::server::handshake(stream).await else { return };
    while let Some(Ok((_, mut respond))) = connection.accept().await {
        shared.seen.send_modify(|seen| seen.push(number));
        let step = shared.script.lock().await.recv().await;
        match step {
            Some(Step::Reply(body)) => reply(&mut respond, &body),
            Some(Step::NeverRespond) => {
                // Keep the response handle: dropping it would reset the stream.
                tokio::spawn(async move {
                    let _respond = respond;
                    std::future::pending::<()>().await;
                });
            }
            Some(Step::Refuse) => respond.send_reset(Reason::REFUSED_STREAM),
            Some(Step::Freeze) => std::future::pending().await,
            None => return,
        }
    }
}

fn reply(respond: &mut SendResponse<Bytes>, body: &Value) {
    // An error means that the client has left.
    if let Ok(mut stream) = respond.send_response(Response::new(()), false) {
        let _ = stream.send_data(body.to_string().into(), true);
    }
}

/// Sends hand-written frames: the settings and, after a request, `GOAWAY` with 0 as the last
/// processed stream.
async fn go_away(mut stream: TlsStream<TcpStream>, number: usize, shared: &Shared) {
    const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
    const GO_AWAY: &[u8] = &[0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let mut preface = [0; 24];
    if stream.read_exact(&mut preface).await.is_err() || stream.write_all(SETTINGS).await.is_err() {
        return;
    }
    let mut head = [0; 9];
    while stream.read_exact(&mut head).await.is_ok() {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let mut payload = vec![0; length];
        if stream.read_exact(&mut payload).await.is_err() {
            return;
        }
        // HEADERS: the request.
        if head[3] == 1 {
            shared.seen.send_modify(|seen| seen.push(number));
            let _ = stream.write_all(GO_AWAY).await;
            let _ = stream.shutdown().await;
        }
    }
}
