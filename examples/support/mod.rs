//! A client for the examples: of the service that the environment names, or of a simulator inside this process.

use imagekiln::Client;
use imagekiln_simulator::{Config, Simulator};

/// The client, and the simulator that must live as long as it is used.
pub async fn client() -> Result<(Client, Option<Simulator>), Box<dyn std::error::Error>> {
    if !std::env::args().any(|argument| argument == "--simulate") {
        return Ok((Client::from_env()?, None));
    }
    let simulator = Simulator::start(Config::default()).await?;
    let client = Client::builder()
        .api_key(simulator.api_key())
        .base_url(simulator.base_url())
        .regional_base_url(simulator.regional_base_url())
        .build()?;
    Ok((client, Some(simulator)))
}
