//! Webhooks: a server receives an event, verifies it, confirms it with a poll, and saves the
//! picture. The event also wakes the wait for the same task.
//!
//!     cargo run --example webhook_server -- --simulate
//!
//! For the service itself give the address to listen at, such as 0.0.0.0:8080, instead. Set
//! IMAGEKILN_WEBHOOK_URL to the public URL of its path `/webhooks/kiln`, and
//! IMAGEKILN_WEBHOOK_SECRET to a secret of your own, besides the key and the address of the
//! service.

mod support;

use std::{env, time::Duration};

use axum::{
    Router,
    extract::Request,
    middleware::{self, Next},
};
use imagekiln::{
    Error, Picture, WEBHOOK_SECRET_VARIABLE, WaitOptions,
    types::Gen2Pro,
    webhook::{Receiver, Verifier},
};
use tokio::{net::TcpListener, sync::mpsc, time::Instant};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut builder, simulator) = support::builder().await?;
    let address = env::args().nth(1).filter(|argument| argument != "--simulate");
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:0")).await?;
    let secret = match &simulator {
        None => env::var(WEBHOOK_SECRET_VARIABLE)?,
        Some(_) => "a secret of the simulator".to_owned(),
    };
    if simulator.is_some() {
        let url = format!("http://{}/webhooks/kiln", listener.local_addr()?);
        builder = builder.webhook_url(url).webhook_secret(secret.clone());
    }
    let client = builder.build()?;

    let (saved, mut saves) = mpsc::channel(1);
    let verifier = Verifier::hmac_sha256(secret).header("x-webhook-signature");
    let webhooks = Receiver::new(client.clone(), verifier).router(move |outcome| {
        let saved = saved.clone();
        async move {
            let task = match &outcome {
                Ok(picture) => Some(picture.task()),
                Err(error) => error.task(),
            };
            let id = task.map(|task| task.id().to_owned());
            // Nobody waits for it any more once `main` has failed.
            let _ = saved.send((id, save(outcome).await)).await;
        }
    })?;
    let (arrived, mut arrivals) = mpsc::channel(1);
    let app = Router::new().nest("/webhooks/kiln", webhooks).layer(middleware::from_fn(
        move |delivery: Request, next: Next| {
            // The first one counts.
            let _ = arrived.try_send(Instant::now());
            next.run(delivery)
        },
    ));
    tokio::spawn(async move { axum::serve(listener, app).await });

    // The webhook's address and secret are the client's, so the request does not name them.
    let task = client.submit(Gen2Pro::new("a red fox in the snow").seed(7)).await?;
    println!("submitted {}", task.id());
    // Polls so seldom that it is the event that ends the wait. Were it lost, the next poll would.
    let seldom = Duration::from_secs(10);
    let picture =
        task.wait_with(WaitOptions::default().interval(seldom).max_interval(seldom)).await?;
    let returned = Instant::now();
    match arrivals.try_recv() {
        Ok(arrived) => {
            println!("the wait returned {:.1?} after the event had arrived", returned - arrived)
        }
        Err(_) => println!("the wait returned before an event had arrived"),
    }
    println!("{} is ready", picture.task().id());

    // Tasks of earlier runs have events, too.
    loop {
        let (id, saved) = saves.recv().await.ok_or("the receiver was dropped")?;
        match saved {
            Ok(saved) => println!("{saved}"),
            Err(error) if id.as_deref() == Some(task.id()) => return Err(error.into()),
            Err(error) => eprintln!("{error}"),
        }
        if id.as_deref() == Some(task.id()) {
            return Ok(());
        }
    }
}

/// Called once for each finished task, after a poll has confirmed the event.
async fn save(outcome: Result<Picture, Error>) -> Result<String, Error> {
    let saved = outcome?.save_in(env::temp_dir()).await?;
    Ok(format!("{} ({} bytes)", saved.path.display(), saved.bytes))
}
