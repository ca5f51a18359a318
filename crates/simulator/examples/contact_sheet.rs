//! Makes the contact sheet of `docs/prompts.md`: a picture for each prompt of a table.
//!
//! ```text
//! cargo run --package imagekiln-simulator --example contact_sheet -- \
//!     docs/prompts.tsv docs/prompts.jpg
//! ```

use std::{env, error::Error, fs, time::Duration};

use axum::{
    body::Bytes,
    http::{Method, Request},
};
use http_body_util::{BodyExt as _, Full};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use image::{RgbImage, imageops};
use imagekiln_simulator::{Config, Simulator};
use serde_json::{Value, json};

/// The size of a picture, and the number of columns of the sheet.
const WIDTH: u32 = 256;
const HEIGHT: u32 = 192;
const COLUMNS: u32 = 10;

struct Painter {
    simulator: Simulator,
    client: Client<HttpConnector, Full<Bytes>>,
}

impl Painter {
    async fn send(&self, method: Method, url: &str, body: String) -> Result<Bytes, Box<dyn Error>> {
        let request = Request::builder()
            .method(method)
            .uri(url)
            .header("x-key", self.simulator.api_key())
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(body)))?;
        Ok(self.client.request(request).await?.into_body().collect().await?.to_bytes())
    }

    async fn paint(&self, prompt: &str) -> Result<RgbImage, Box<dyn Error>> {
        let body = json!({
            "prompt": prompt, "width": WIDTH, "height": HEIGHT, "seed": 7, "output_format": "png",
        });
        let url = format!("{}/v1/gen-2-pro", self.simulator.base_url());
        let submitted = self.send(Method::POST, &url, body.to_string()).await?;
        let submitted: Value = serde_json::from_slice(&submitted)?;
        let polling_url = submitted["polling_url"].as_str().ok_or("it was not accepted")?;
        self.simulator.clock().advance(Duration::from_secs(1));
        let poll = self.send(Method::GET, polling_url, String::new()).await?;
        let poll: Value = serde_json::from_slice(&poll)?;
        let sample = poll["result"]["sample"].as_str().ok_or("it has no picture")?;
        let picture = self.send(Method::GET, sample, String::new()).await?;
        Ok(image::load_from_memory(&picture)?.into_rgb8())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let (Some(table), Some(sheet)) = (arguments.next(), arguments.next()) else {
        return Err("usage: contact_sheet PROMPTS.tsv SHEET.jpg or .png".into());
    };
    let painter = Painter {
        simulator: Simulator::start(Config::default()).await?,
        client: Client::builder(TokioExecutor::new()).build_http(),
    };
    let table = fs::read_to_string(table)?;
    let prompts: Vec<_> = table.lines().skip(1).filter_map(|row| row.split('\t').next()).collect();
    let rows = (prompts.len() as u32).div_ceil(COLUMNS);
    let mut whole = RgbImage::new(WIDTH * COLUMNS, HEIGHT * rows);
    for (number, prompt) in prompts.into_iter().enumerate() {
        let picture = painter.paint(prompt).await.map_err(|error| format!("{prompt}: {error}"))?;
        let (column, row) = (number as u32 % COLUMNS, number as u32 / COLUMNS);
        let (x, y) = (i64::from(column * WIDTH), i64::from(row * HEIGHT));
        imageops::replace(&mut whole, &picture, x, y);
    }
    whole.save(sheet)?;
    painter.simulator.shutdown().await;
    Ok(())
}
