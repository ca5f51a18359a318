//! A client for the examples: of the service that the environment names, or of a simulator inside
//! this process.

#![allow(dead_code, reason = "each example uses one of the functions")]

use imagekiln::{Client, ClientBuilder};
use imagekiln_simulator::{Config, Simulator};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The client, and the simulator that must live as long as it is used.
pub async fn client() -> Result<(Client, Option<Simulator>)> {
    let (builder, simulator) = builder().await?;
    Ok((builder.build()?, simulator))
}

/// The settings of the client, for examples that add to them.
pub async fn builder() -> Result<(ClientBuilder, Option<Simulator>)> {
    if !std::env::args().any(|argument| argument == "--simulate") {
        return Ok((ClientBuilder::from_env()?, None));
    }
    let simulator = Simulator::start(Config::default()).await?;
    let builder = Client::builder()
        .api_key(simulator.api_key())
        .base_url(simulator.base_url())
        .regional_base_url(simulator.regional_base_url());
    Ok((builder, Some(simulator)))
}
