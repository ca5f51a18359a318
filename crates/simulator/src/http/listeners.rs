//! The sockets of an address. `localhost` is 127.0.0.1 for some clients and `[::1]` for others.

use std::{
    io::{self, ErrorKind},
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
};

use tokio::net::TcpListener;
use tracing::debug;

use crate::error::StartError;

/// How many free ports to try until one is free for both IPv4 and IPv6.
const ATTEMPTS: usize = 8;

/// Sockets with the same port, which clients can connect to from now on.
pub(crate) struct Listeners {
    /// The address of the first.
    pub(crate) address: SocketAddr,
    pub(crate) sockets: Vec<TcpListener>,
}

impl Listeners {
    /// Listens on an address, by default on a free port of 127.0.0.1. With 127.0.0.1, it also
    /// listens on `[::1]`, if there is IPv6.
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
                // Otherwise `localhost` would lead to another program.
                Err(error) if error.kind() == ErrorKind::AddrInUse => return Err(error),
                Err(error) => debug!(%error, "no IPv6"),
            }
        }
        Ok(Self { address, sockets })
    }
}
