//! A server that speaks HTTP/2 over TLS, and that stops at the test's word to answer, to read, or
//! to live.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bytes::Bytes;
use h2::{Reason, server::SendResponse};
use http::{Request, Response};
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

/// What is done about the next request. Each belongs to one request, in the order in which requests
/// arrive.
pub enum Step {
    Answer(Value),
    /// The stream stays open, and the connection lives.
    NeverAnswer,
    /// The stream is refused with `REFUSED_STREAM`.
    Refuse,
    /// Nothing is read or written on this connection any more, not even an answer to a ping.
    Freeze,
}

pub struct Http2Server {
    port: u16,
    shared: Arc<Shared>,
    steps: mpsc::UnboundedSender<Step>,
    requests: watch::Receiver<Vec<(String, usize)>>,
}

/// A certificate for `127.0.0.1`, and its key.
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
                // The system would hold back small frames for a moment, and a paused clock jumps
                // over any moment.
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

    /// The first connection shuts down in order once a request is there, and says that it took
    /// none.
    pub fn goes_away_first(&self) -> &Self {
        self.shared.going_away.store(1, Ordering::Relaxed);
        self
    }

    /// Method and path of every request, and the number of its connection.
    pub fn requests(&self) -> Vec<(String, usize)> {
        self.requests.borrow().clone()
    }

    pub async fn wait_for_requests(&self, count: usize) {
        let mut requests = self.requests.clone();
        super::done(requests.wait_for(|seen| seen.len() >= count)).await.expect("the server runs");
    }
}

struct Shared {
    script: tokio::sync::Mutex<mpsc::UnboundedReceiver<Step>>,
    seen: watch::Sender<Vec<(String, usize)>>,
    /// How many connections go away, the first ones.
    going_away: AtomicUsize,
}

async fn serve(acceptor: TlsAcceptor, stream: TcpStream, number: usize, shared: Arc<Shared>) {
    let Ok(stream) = acceptor.accept(stream).await else { return };
    // By hand, because a library would first take the request.
    if number <= shared.going_away.load(Ordering::Relaxed) {
        return go_away(stream, number, &shared).await;
    }
    let Ok(mut connection) = h2::server::handshake(stream).await else { return };
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        shared.saw(&request, number);
        let step = shared.script.lock().await.recv().await;
        match step {
            Some(Step::Answer(body)) => answer(&mut respond, &body),
            Some(Step::NeverAnswer) => {
                // Kept for as long as the connection lives: dropping it would reset the stream.
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

fn answer(respond: &mut SendResponse<Bytes>, body: &Value) {
    // An error here is a client that left.
    if let Ok(mut stream) = respond.send_response(Response::new(()), false) {
        let _ = stream.send_data(body.to_string().into(), true);
    }
}

/// Frames by hand: settings, and once a request is there, `GOAWAY` with 0 as the last stream that
/// was taken.
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
            shared
                .seen
                .send_modify(|seen| seen.push(("a request that was not taken".to_owned(), number)));
            let _ = stream.write_all(GO_AWAY).await;
            let _ = stream.shutdown().await;
        }
    }
}

impl Shared {
    fn saw<B>(&self, request: &Request<B>, number: usize) {
        let line = format!("{} {}", request.method(), request.uri().path());
        self.seen.send_modify(|seen| seen.push((line, number)));
    }
}
