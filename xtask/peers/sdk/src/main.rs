//! Makes pictures with the SDK. With the argument `webhooks`, it receives webhooks, too.

use std::env;

use axum::Router;
use imagekiln::{
    ClientBuilder, Error, Task, WEBHOOK_SECRET_VARIABLE,
    types::GenDev,
    webhook::{Receiver, Verifier},
};
use tokio::{net::TcpListener, task::JoinSet};

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

#[tokio::main]
async fn main() -> Result {
    let mut builder = ClientBuilder::from_env()?.max_active(env::var("AT_ONCE")?.parse()?);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let receives = env::args().any(|argument| argument == "webhooks");
    if receives {
        let url = format!("http://{}/", listener.local_addr()?);
        builder = builder.webhook_url(url);
    }
    let client = builder.build()?;
    if receives {
        let secret = env::var(WEBHOOK_SECRET_VARIABLE)?;
        let verifier = Verifier::hmac_sha256(secret).header("x-webhook-signature");
        // An event wakes the wait for its task, so there is nothing left for the handler.
        let webhooks = Receiver::new(client.clone(), verifier).router(|_| async {})?;
        let app = Router::new().merge(webhooks);
        tokio::spawn(async move { axum::serve(listener, app).await });
    }

    let mut saving = JoinSet::new();
    for number in 0..env::var("PICTURES")?.parse()? {
        let request = GenDev::new().prompt("a red fox in the snow").seed(number);
        let request = request.width(256).height(256);
        // Waits until fewer than `AT_ONCE` tasks are active.
        let task = client.submit(request).await?;
        saving.spawn(save(task, number));
    }
    while let Some(saved) = saving.join_next().await {
        saved??;
    }
    Ok(())
}

async fn save(task: Task, number: i64) -> std::result::Result<(), Error> {
    task.wait().await?.save(format!("pictures/{number}.jpg")).await.map(drop)
}
