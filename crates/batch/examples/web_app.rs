//! A web application: each user has a page with a form and pictures, which appear as soon as any
//! process has saved them. A ledger contains every order, so the application continues after a
//! crash, and pays for nothing twice.
//!
//!     cargo run --package imagekiln-batch --features axum,postgres --example web_app -- \
//!         127.0.0.1:8000 postgres://kiln@db.example.com/kiln
//!
//! Many processes can share the database and the directory `pictures`. Without a URL, one process
//! has its ledger in a file. The page of a user is `/users/NAME/`; authentication is up to your
//! program. Set IMAGEKILN_API_KEY, IMAGEKILN_BASE_URL and CREDITS_PER_USER. For webhooks, set
//! IMAGEKILN_WEBHOOK_URL to the public URL of `/webhooks`, and IMAGEKILN_WEBHOOK_SECRET.

use std::{convert::Infallible, env, error::Error, sync::Arc};

use axum::{
    Form, Router,
    extract::{Path, RawQuery, State},
    http::{StatusCode, header::CONTENT_TYPE},
    response::{Html, IntoResponse, Redirect, Sse, sse::Event, sse::KeepAlive},
    routing::get,
};
use imagekiln::{ClientBuilder, ImageInput, Submit, types::Gen2Pro, webhook::Verifier};
use imagekiln_batch::{Batch, Filter, Job, JobState, JobStatus, Ledger, Scope, Watch};
use serde_json::json;
use tokio::{net::TcpListener, signal, sync::broadcast};
use tokio_stream::{self as stream, StreamExt, wrappers::BroadcastStream};

/// The ledger, and its changes by all processes.
type App = State<(Ledger, Arc<broadcast::Receiver<JobStatus>>)>;
type Refusal = (StatusCode, String);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let ledger = match env::args().nth(2) {
        Some(url) => Ledger::open(url).await?.with_acceptance_log("acceptances").await?,
        None => Ledger::open("pictures.db").await?,
    };
    ledger
        .limits()
        .set_budget(Scope::EachGroup, Some(env::var("CREDITS_PER_USER")?.parse()?))
        .await?;
    // Until a cost is known, one lost response would hold back all other submissions.
    ledger.limits().set_price("gen-2-pro", Some(4.0.into())).await?;
    let (sender, changes) = broadcast::channel(1000);
    let mut app = Router::new()
        .route("/users/{user}/", get(Html(include_str!("web_app.html"))).post(order))
        .route("/users/{user}/changes", get(changes_of_user))
        .route("/users/{user}/pictures/{number}", get(picture))
        .with_state((ledger.clone(), Arc::new(changes)));
    let publishing = tokio::spawn(publish(ledger.jobs().watch().await?, sender));
    let batch = Batch::open(ClientBuilder::from_env()?, ledger)?;
    let mut batch = batch.save_to("pictures").wait_for_jobs().stop_when(stopped());
    let webhooks = (env::var("IMAGEKILN_WEBHOOK_URL"), env::var("IMAGEKILN_WEBHOOK_SECRET"));
    if let (Ok(url), Ok(secret)) = webhooks {
        let verifier = Verifier::hmac_sha256(secret).header("x-webhook-signature");
        app = app.nest("/webhooks", batch.callbacks().router(verifier));
        batch = batch.callback_url(url);
    }
    let listener = TcpListener::bind(env::args().nth(1).unwrap_or("127.0.0.1:0".into())).await?;
    println!("http://{}", listener.local_addr()?);
    let server = axum::serve(listener, app).with_graceful_shutdown(async move {
        stopped().await;
        publishing.abort();
    });
    // If the run fails, the process ends, and accepts no more orders.
    let run = async { batch.run().await.map_err(Box::<dyn Error>::from) };
    print!("{}", tokio::try_join!(run, async { Ok(server.await?) })?.0);
    Ok(())
}

async fn stopped() {
    signal::ctrl_c().await.expect("the signal is not available");
}

/// Watches the ledger once for all browsers. Their streams end with the sender.
async fn publish(mut watch: Watch, browsers: broadcast::Sender<JobStatus>) {
    while let Ok(jobs) = watch.changed().await {
        jobs.into_iter().for_each(|job| drop(browsers.send(job)));
    }
}

/// A form that is sent twice has the same number, and is one order.
#[derive(serde::Deserialize)]
struct Order {
    number: u64,
    prompt: String,
    image: String,
}

async fn order(
    State((ledger, _)): App,
    Path(user): Path<String>,
    Form(Order { number, prompt, image }): Form<Order>,
) -> Result<Redirect, Refusal> {
    let mut request = Gen2Pro::new(&prompt).output_format("png");
    if !image.is_empty() {
        // Text from a form is a URL, and never the path of a file on this machine.
        let image = ImageInput::try_url(&image).map_err(refused(StatusCode::BAD_REQUEST))?;
        request = request.input_image(image);
    }
    let request = request.into_request();
    request.validate().map_err(refused(StatusCode::UNPROCESSABLE_ENTITY))?;
    let job = Job::new(format!("{user}-{number}"), "{name}.{ext}", request).group(user);
    let added =
        ledger.jobs().add([job.metadata(json!({ "prompt": prompt, "number": number }))]).await;
    added.map(|()| Redirect::to("./")).map_err(refused(StatusCode::CONFLICT))
}

fn refused<E: Error>(status: StatusCode) -> impl Fn(E) -> Refusal {
    move |error| (status, error.to_string())
}

/// Streams up to 50 jobs of a user, from the one after the number in the query, and then changes.
/// A browser that lost the connection connects again, and misses nothing.
async fn changes_of_user(
    State((ledger, changes)): App,
    Path(user): Path<String>,
    RawQuery(after): RawQuery,
) -> Result<impl IntoResponse, Refusal> {
    let changes = BroadcastStream::new(changes.resubscribe());
    let after = after.and_then(|number| number.parse().ok()).unwrap_or_default();
    let own = Filter { group: Some(user.clone()), ..Filter::default() };
    let jobs = ledger.jobs().page(&own, after, 50).await;
    let jobs = jobs.map_err(refused(StatusCode::INTERNAL_SERVER_ERROR))?;
    let is_own = move |job: &JobStatus| job.group.as_ref() == Some(&user);
    let jobs = stream::iter(jobs).chain(changes.map_while(Result::ok).filter(is_own));
    let events = jobs.map(|JobStatus { number, metadata, state, reason, .. }| {
        let item = json!({ "id": number, "order": metadata, "state": state, "reason": reason });
        Ok::<_, Infallible>(Event::default().data(item.to_string()))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

async fn picture(
    State((ledger, _)): App,
    Path((user, number)): Path<(String, u64)>,
) -> Result<impl IntoResponse, StatusCode> {
    // Only files that the ledger names are served, and only to their user.
    let job = ledger.jobs().get(&format!("{user}-{number}")).await.unwrap_or_default();
    let job = job.filter(|job| job.state == JobState::Saved && job.group == Some(user));
    let file = job.and_then(|job| job.location).ok_or(StatusCode::NOT_FOUND)?;
    let picture = tokio::fs::read(file).await.map_err(|_| StatusCode::NOT_FOUND)?;
    Ok(([(CONTENT_TYPE, "image/png")], picture))
}
