//! Attacks with pictures: large ones to decode, and one that many fetch.

use std::{error::Error, time::Duration};

use base64::Engine as _;
use image::ImageFormat;
use serde_json::{Map, Value};
use tokio::{task::JoinSet, time::Instant, time::sleep};

use imagekiln_testbed::picture;

use super::{Target, raw, tiny};

/// The side of an image of almost 2^25 pixels.
const SIDE: u32 = 5792;

/// How many of them there are at once: more than workers.
const LARGE_SUBMISSIONS: usize = 3;

/// Submissions with eight large images each, and small ones meanwhile.
pub async fn decoded(target: &Target) -> Result<(), Box<dyn Error>> {
    let image = picture::encoded(picture::gradient(SIDE, SIDE), ImageFormat::Png);
    let image = Value::from(base64::engine::general_purpose::STANDARD.encode(image));
    let mut body: Map<String, Value> =
        (2..=8).map(|number| (format!("input_image_{number}"), image.clone())).collect();
    body.insert("input_image".to_owned(), image);
    body.extend([("prompt".to_owned(), "x".into()), ("width".to_owned(), 512.into())]);
    body.insert("height".to_owned(), 512.into());
    let body = Value::from(body).to_string();
    let begun = Instant::now();
    let mut large = JoinSet::new();
    for _ in 0..LARGE_SUBMISSIONS {
        let (address, body) = (target.address.clone(), body.clone());
        large.spawn(async move {
            raw::submit(&address, &body).await.unwrap_or_else(|error| error.to_string())
        });
    }
    let (mut longest, mut statuses) = (Duration::ZERO, Vec::new());
    while statuses.len() < LARGE_SUBMISSIONS {
        let sent = Instant::now();
        tiny(target).await?;
        longest = longest.max(sent.elapsed());
        sleep(Duration::from_millis(50)).await;
        statuses.extend(large.try_join_next().transpose()?);
    }
    let findings = format!(
        "{} after {:.2} s, small submissions meanwhile at most {:.2} s",
        statuses.join(", "),
        begun.elapsed().as_secs_f64(),
        longest.as_secs_f64(),
    );
    target.report("large images", &findings).await
}

/// A picture that one client fetches, and another that sixteen fetch at once.
pub async fn painted(target: &Target) -> Result<(), Box<dyn Error>> {
    let mut findings = Vec::new();
    for clients in [1, 16] {
        let sample = sample(target).await?;
        let before = target.process.cpu_time()?;
        let mut fetches = JoinSet::new();
        for _ in 0..clients {
            let (address, path) = (target.address.clone(), sample.clone());
            fetches.spawn(async move { raw::get(&address, &path).await.is_ok() });
        }
        fetches.join_all().await;
        let took = target.process.cpu_time()?.saturating_sub(before);
        findings.push(format!("{clients} fetching at once {:.2} s", took.as_secs_f64()));
    }
    let findings = format!("CPU time with {}", findings.join(", with "));
    target.report("one picture", &findings).await
}

/// The path of the delivery URL of a large picture.
async fn sample(target: &Target) -> Result<String, Box<dyn Error>> {
    let body = r#"{"prompt":"a fox","width":2048,"height":2048,"output_format":"png"}"#;
    let id = raw::accepted(&target.address, body).await?;
    let poll = raw::get(&target.address, &format!("/v1/get_result?id={id}")).await?;
    let path = poll.split('"').find_map(|text| Some(text.split_once("/delivery/")?.1));
    Ok(format!("/delivery/{}", path.ok_or("the task is not ready")?))
}
