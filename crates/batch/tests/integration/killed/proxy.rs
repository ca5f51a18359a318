//! A proxy between a worker and its database that can disconnect one from the other, while the
//! worker still reaches the service.

use std::{
    io,
    path::{Path, PathBuf},
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream, UnixStream},
    sync::watch,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    Forwarding,
    /// Connections stay open, and no byte arrives, in either direction.
    Hanging,
    /// Connections are reset, and so are new ones.
    Resetting,
}

pub struct Proxy {
    port: u16,
    link: watch::Sender<Link>,
}

impl Proxy {
    /// Listens on a port of the loopback address, and forwards to this socket.
    pub async fn start(server: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (link, watched) = watch::channel(Link::Forwarding);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(serve(client, server.clone(), watched.clone()));
            }
        });
        Self { port, link }
    }

    /// Returns the URL of the same database through the proxy.
    pub fn url(&self, url: &str) -> String {
        let database = url.rsplit('/').next().unwrap();
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    pub fn set(&self, link: Link) {
        self.link.send_replace(link);
    }
}

async fn serve(mut client: TcpStream, server: PathBuf, link: watch::Receiver<Link>) {
    let mut resets = link.clone();
    tokio::select! {
        // Each end closes the other one.
        _ = forward(&mut client, &server, link) => {}
        _ = resets.wait_for(|link| *link == Link::Resetting) => client.set_zero_linger().unwrap(),
    }
}

async fn forward(
    client: &mut TcpStream,
    server: &Path,
    link: watch::Receiver<Link>,
) -> io::Result<()> {
    until_forwarding(&mut link.clone()).await;
    let (from_server, to_server) = UnixStream::connect(server).await?.into_split();
    let (from_client, to_client) = client.split();
    tokio::select! {
        ended = copy(from_client, to_server, link.clone()) => ended,
        ended = copy(from_server, to_client, link) => ended,
    }
}

/// Copies bytes to the end, and holds back those that arrive while the link does not forward.
async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut link: watch::Receiver<Link>,
) -> io::Result<()> {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let count = from.read(&mut buffer).await?;
        until_forwarding(&mut link).await;
        if count == 0 {
            return Ok(());
        }
        to.write_all(&buffer[..count]).await?;
    }
}

async fn until_forwarding(link: &mut watch::Receiver<Link>) {
    // Fails only if the test has ended.
    let _ = link.wait_for(|link| *link == Link::Forwarding).await;
}
