//! The sockets for an address. Two may be needed, because some clients resolve `localhost` to
//! 127.0.0.1, and others to `[::1]`.

use std::{
    io::{self, ErrorKind},
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
};

use tokio::net::TcpListener;
use tracing::debug;

use crate::error::StartError;

/// The number of free ports to try, until one is free for both IPv4 and IPv6.
const ATTEMPTS: usize = 8;

/// Sockets with the same port, to which clients can connect from now on.
pub(crate) struct Listeners {
    /// The address of the first socket.
    pub(crate) address: SocketAddr,
    pub(crate) sockets: Vec<TcpListener>,
}

impl Listeners {
    /// Listens on an address, or by default on a free port of 127.0.0.1. If the address is
    /// 127.0.0.1, also listens on the same port of `[::1]`, if the machine has IPv6.
    pub(crate) async fn open(address: Option<SocketAddr>) -> Result<Self, StartError> {
        let address = address.unwrap_or((Ipv4Addr::LOCALHOST, 0).into());
        let mut attempts = if address.port() == 0 { ATTEMPTS } else { 1 };
        loop {
            attempts -= 1;
            match Self::bind(address).await {
                Err(error) if error.kind() == ErrorKind::AddrInUse && attempts > 0 => {}
                listeners => {
                    return listeners.map_err(|source| StartError::Listen { address, source });
                }
            }
        }
    }

    async fn bind(address: SocketAddr) -> io::Result<Self> {
        let first = TcpListener::bind(address).await?;
        let address = first.local_addr()?;
        let mut sockets = vec![first];
        if address.ip() == Ipv4Addr::LOCALHOST {
            match TcpListener::bind((Ipv6Addr::LOCALHOST, address.port())).await {
                Ok(second) => sockets.push(second),
                // Fail, because `localhost` would otherwise lead some clients to another program.
                Err(error) if error.kind() == ErrorKind::AddrInUse => return Err(error),
                Err(error) => debug!(%error, "no IPv6"),
            }
        }
        Ok(Self { address, sockets })
    }
}
