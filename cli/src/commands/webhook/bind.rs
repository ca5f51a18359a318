//! Listens at the address of an option.

use std::net::SocketAddr;

use tokio::net::TcpListener;

use crate::failure::Failure;

pub async fn bind(option: &str, address: SocketAddr) -> Result<(TcpListener, SocketAddr), Failure> {
    let bound = async {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    };
    bound.await.map_err(|error| {
        Failure::file(format!("could not listen on {address}"), error)
            .advise(format!("choose another address with {option}; port 0 picks a free port"))
    })
}
