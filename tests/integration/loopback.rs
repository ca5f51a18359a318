//! The names and addresses of this machine are equal.

use crate::operations::simulator;
use imagekiln::{Client, types::Gen2Pro};

fn port(base: &str) -> &str {
    base.rsplit(':').next().unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_simulator_is_used_by_every_name_of_this_machine() {
    let simulator = simulator().await;
    for host in ["localhost", "127.0.0.1", "[::1]"] {
        let base = format!("http://{host}:{}", port(simulator.base_url()));
        let client = Client::builder()
            .api_key(simulator.api_key())
            .base_url(&base)
            .regional_base_url(format!("http://{host}:{}", port(simulator.regional_base_url())))
            .build()
            .unwrap();
        let request = Gen2Pro::new("a fox").width(64).height(64);
        let task = client.submit(request).await.unwrap();
        let picture = task.wait().await.unwrap_or_else(|error| panic!("{host}: {error}"));
        picture.bytes().await.unwrap_or_else(|error| panic!("{host}: {error}"));
        let used = [task.reference().polling_url(), picture.address()];
        assert!(used.iter().all(|url| url.reveal().starts_with(&base)), "{host}");
    }
}
