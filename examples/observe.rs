//! Prints the spans of a picture when they end, and then its metrics as Prometheus reads them.
//!
//!     cargo run --example observe -- --simulate

mod support;

use imagekiln::types::Gen2Pro;
use metrics_exporter_prometheus::PrometheusBuilder;
use tracing_subscriber::fmt::format::FmtSpan;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The layer of tracing-opentelemetry takes the place of this subscriber, to export traces.
    tracing_subscriber::fmt().with_span_events(FmtSpan::CLOSE).init();
    // Installed first, because the client describes its metrics when it is built.
    let prometheus = PrometheusBuilder::new().install_recorder()?;
    let (client, _simulator) = support::client().await?;
    let request = Gen2Pro::new("a red fox in the snow").width(256).height(256).seed(7);
    let task = client.submit(request).await?;
    task.wait().await?.save(std::env::temp_dir().join("observed.jpeg")).await?;
    // A web server of the program would return this at `/metrics`.
    println!("{}", prometheus.render());
    Ok(())
}
