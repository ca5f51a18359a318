//! A web application: a form for a prompt and an image, and a page of the pictures that were made.
//! What was submitted is in a journal, so after a crash the application resumes it.
//!
//!     cargo run --example web_app -- --simulate
//!
//! Then open the address that it prints. The pictures and the journal are in `pictures/`.

mod app;
#[path = "../support/mod.rs"]
mod support;

use std::{fs, path::PathBuf};

use imagekiln::journal::FileJournal;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (builder, _simulator) = support::builder().await?;
    let folder = PathBuf::from("pictures");
    fs::create_dir_all(&folder)?;
    let journal = FileJournal::open(folder.join("journal.jsonl"))?;
    let client = builder.journal(journal).max_active_tasks(24).build()?;

    let app = app::router(client.clone(), folder).await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    axum::serve(listener, app).with_graceful_shutdown(stopped()).await?;
    // A submission that is under way may be billed already, so the runtime must not cut it.
    client.drain(std::time::Duration::from_secs(30)).await?;
    Ok(())
}

async fn stopped() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}
