//! A server with the interface of S3, which keeps objects in a directory, and fails on request.

use std::{
    collections::VecDeque,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use hyper::{Method, Request, Response, StatusCode, body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto::Builder,
};
use s3s::{
    Body,
    auth::SimpleAuth,
    service::{S3Service, S3ServiceBuilder},
};
use s3s_fs::FileSystem;
use tokio::{net::TcpListener, sync::Notify};

pub const ACCESS_KEY: &str = "ACCESS-KEY";

/// The object that says which ledgers have paid for the pictures.
pub const MARKER: &str = ".imagekiln-ledger";

const BUCKET: &str = "pictures";

/// A fault of an upload.
#[derive(Clone, Copy)]
pub enum Fault {
    /// The server is not available.
    Refuse,
    /// The object is created, and the response is a server error.
    LoseResponse,
    /// The object is created, and the connection breaks.
    Disconnect,
    /// The object is created, and there is no response.
    HoldResponse,
    /// Another program creates the object first.
    Overtake,
}

pub struct Server {
    url: String,
    shared: Arc<Shared>,
}

struct Shared {
    root: tempfile::TempDir,
    service: S3Service,
    /// For the next uploads.
    faults: Mutex<VecDeque<Fault>>,
    /// The paths of all uploads.
    puts: Mutex<Vec<String>>,
    held: Notify,
}

type Reply = Result<Response<Body>, Box<dyn std::error::Error + Send + Sync>>;

impl Server {
    pub async fn start(secret: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join(BUCKET)).unwrap();
        let mut builder = S3ServiceBuilder::new(FileSystem::new(root.path()).unwrap());
        builder.set_auth(SimpleAuth::from_single(ACCESS_KEY, secret));
        let shared = Arc::new(Shared {
            root,
            service: builder.build(),
            faults: Mutex::default(),
            puts: Mutex::default(),
            held: Notify::new(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self { url, shared }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn root(&self) -> &Path {
        self.shared.root.path()
    }

    /// Applies faults to the next uploads of pictures and descriptions, one to each.
    pub fn inject(&self, faults: impl IntoIterator<Item = Fault>) {
        self.shared.faults.lock().unwrap().extend(faults);
    }

    /// Waits until a response is held.
    pub async fn held(&self) {
        self.shared.held.notified().await;
    }

    pub fn object(&self, key: &str) -> Option<Vec<u8>> {
        fs::read(self.shared.file(key)).ok()
    }

    pub fn put(&self, key: &str, content: &str) {
        self.shared.put(key, content);
    }

    /// The number of requests to upload this object.
    pub fn puts(&self, key: &str) -> usize {
        let path = format!("/{BUCKET}/{key}");
        self.shared.puts.lock().unwrap().iter().filter(|put| **put == path).count()
    }

    /// The names in a directory of the bucket.
    pub fn objects(&self, directory: &str) -> Vec<String> {
        let entries = fs::read_dir(self.shared.file(directory)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((socket, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let service = service_fn(move |request| Arc::clone(&shared).reply(request));
            let server = Builder::new(TokioExecutor::new());
            let _ = server.serve_connection(TokioIo::new(socket), service).await;
        });
    }
}

impl Shared {
    async fn reply(self: Arc<Self>, request: Request<Incoming>) -> Reply {
        let path = request.uri().path().to_owned();
        let mut fault = None;
        if request.method() == Method::PUT {
            self.puts.lock().unwrap().push(path.clone());
            if !path.ends_with(MARKER) {
                fault = self.faults.lock().unwrap().pop_front();
            }
        }
        if matches!(fault, Some(Fault::Overtake)) {
            self.put(path.strip_prefix(&format!("/{BUCKET}/")).unwrap(), "mine");
        }
        if matches!(fault, Some(Fault::Refuse)) {
            return Ok(unavailable());
        }
        let response = self.service.call(request.map(Body::from)).await;
        match fault {
            Some(Fault::LoseResponse) => Ok(unavailable()),
            Some(Fault::Disconnect) => Err("the connection breaks".into()),
            Some(Fault::HoldResponse) => {
                self.held.notify_one();
                std::future::pending().await
            }
            _ => Ok(response.unwrap()),
        }
    }

    fn file(&self, key: &str) -> PathBuf {
        self.root.path().join(BUCKET).join(key)
    }

    fn put(&self, key: &str, content: &str) {
        let file = self.file(key);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
    }
}

fn unavailable() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    response
}
