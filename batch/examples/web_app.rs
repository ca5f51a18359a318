//! A web application: a form for a prompt, and a page with the pictures. A ledger contains every
//! order, so the application continues after a crash, and pays for nothing twice.
//!
//!     cargo run --package imagekiln-batch --features axum --example web_app -- 127.0.0.1:8000
//!
//! Set IMAGEKILN_API_KEY and IMAGEKILN_BASE_URL. To receive webhooks, set IMAGEKILN_WEBHOOK_URL to
//! the public URL of the path `/webhooks`, and IMAGEKILN_WEBHOOK_SECRET to a secret of your own.

use std::{env, error::Error, iter::successors, time::SystemTime};

use axum::{
    Form, Router,
    extract::{Path, State},
    http::{StatusCode, header::CONTENT_TYPE},
    response::{Html, IntoResponse, Redirect, Response},
    routing::{get, post},
};
use imagekiln::{
    ClientBuilder, ImageInput, Submit, WEBHOOK_SECRET_VARIABLE, WEBHOOK_URL_VARIABLE,
    types::Gen2Pro, webhook::Verifier,
};
use imagekiln_batch::{Batch, Job, JobState, JobStatus, Ledger};
use serde::Deserialize;
use tokio::{net::TcpListener, signal};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let ledger = Ledger::open("pictures.db").await?;
    let mut batch = Batch::open(ClientBuilder::from_env()?, ledger.clone())?
        .save_to("pictures")
        .wait_for_jobs()
        .stop_when(stopped());
    let mut app = Router::new()
        .route("/", get(page))
        .route("/pictures", post(order))
        .route("/pictures/{name}", get(picture))
        .with_state(ledger);
    if let (Ok(url), Ok(secret)) =
        (env::var(WEBHOOK_URL_VARIABLE), env::var(WEBHOOK_SECRET_VARIABLE))
    {
        let verifier = Verifier::hmac_sha256(secret).header("x-webhook-signature");
        app = app.nest("/webhooks", batch.callbacks().router(verifier));
        batch = batch.callback_url(url);
    }
    let address = env::args().nth(1).unwrap_or("127.0.0.1:0".to_owned());
    let listener = TcpListener::bind(address).await?;
    println!("http://{}", listener.local_addr()?);
    let server = axum::serve(listener, app).with_graceful_shutdown(stopped());
    let (report, served) = tokio::join!(batch.run(), server);
    print!("{}", report?);
    Ok(served?)
}

async fn stopped() {
    if signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}

#[derive(Deserialize)]
struct Order {
    /// The name of the job. A form that is sent twice is one order.
    name: String,
    prompt: String,
    /// The URL of a reference image, if there is one.
    image: String,
}

async fn order(State(ledger): State<Ledger>, Form(order): Form<Order>) -> Response {
    let mut request = Gen2Pro::new(order.prompt).output_format("png");
    // Text from a form is a URL, and never the path of a file on this machine.
    match ImageInput::try_url(&order.image) {
        _ if order.image.is_empty() => {}
        Ok(image) => request = request.input_image(image),
        Err(error) => return refused(StatusCode::BAD_REQUEST, &error),
    }
    let request = request.into_request();
    if let Err(error) = request.validate() {
        return refused(StatusCode::UNPROCESSABLE_ENTITY, &error);
    }
    match ledger.add([Job::new(order.name, "{name}.{ext}", request)]).await {
        Ok(()) => Redirect::to("/").into_response(),
        Err(error) => refused(StatusCode::CONFLICT, &error),
    }
}

fn refused(status: StatusCode, error: &(dyn Error + 'static)) -> Response {
    let chain = successors(Some(error), |&error| error.source()).map(ToString::to_string);
    (status, Html(escaped(&chain.collect::<Vec<_>>().join(": ")))).into_response()
}

async fn page(State(ledger): State<Ledger>) -> Response {
    let jobs = match ledger.jobs().await {
        Ok(jobs) => jobs,
        Err(error) => return refused(StatusCode::INTERNAL_SERVER_ERROR, &error),
    };
    let name = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
    let items: String = jobs.iter().rev().map(item).collect();
    Html(format!(
        "<!doctype html><html lang=en><meta charset=utf-8><title>Pictures</title>\
         <h1>Pictures</h1><form method=post action=/pictures>\
         <input type=hidden name=name value={name}>\
         <label>Prompt <input name=prompt required></label> \
         <label>URL of a reference image <input name=image type=url></label> \
         <button>Create picture</button></form><ul>{items}</ul>"
    ))
    .into_response()
}

fn item(job: &JobStatus) -> String {
    let name = escaped(&job.name);
    match (job.state, &job.reason) {
        (JobState::Saved, _) => format!("<li><img src=\"/pictures/{name}\" alt=\"\">"),
        (state, Some(reason)) => format!("<li>{name}: {state}: {}", escaped(reason)),
        (state, None) => format!("<li>{name}: {state}"),
    }
}

async fn picture(State(ledger): State<Ledger>, Path(name): Path<String>) -> Response {
    // Only files that the ledger names are served.
    let Ok(Some(JobStatus { state: JobState::Saved, location: Some(file), .. })) =
        ledger.job(&name).await
    else {
        return StatusCode::NOT_FOUND.into_response();
    };
    match tokio::fs::read(file).await {
        Ok(bytes) => ([(CONTENT_TYPE, "image/png")], bytes).into_response(),
        Err(_) => StatusCode::NOT_FOUND.into_response(),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
