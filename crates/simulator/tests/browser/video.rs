//! A video plays to its end, and every frame is a new picture.

use axum::{Router, body::Bytes, response::Html, routing::get};
use imagekiln_testbed::{
    Runtime, Trial,
    browser::{BROWSER, Browser},
    name_of,
};
use serde_json::json;
use tokio::net::TcpListener;

use super::bench::Bench;

const WIDTH: u32 = 640;
const SECONDS: u32 = 2;
const FPS: u32 = 4;

/// Plays the video from its delivery URL. Then seeks a copy of it to the middle of each frame, and
/// reports which frames differ from the frame before.
const PAGE: &str = r"<!doctype html><meta charset='utf-8'><title>video</title><script>
const event = (target, name) => new Promise((resolve, reject) => {
    target.addEventListener(name, resolve, { once: true });
    target.addEventListener('error', () => reject(new Error(target.error.message)), { once: true });
});
async function watch() {
    const video = document.createElement('video');
    document.documentElement.append(video);
    video.muted = true;
    video.src = 'DELIVERY';
    await Promise.all([event(video, 'ended'), video.play()]);
    const seen = { duration: video.duration, width: video.videoWidth, height: video.videoHeight };
    const copy = document.createElement('video');
    copy.muted = true;
    copy.src = URL.createObjectURL(await (await fetch('/copy')).blob());
    await event(copy, 'loadeddata');
    const canvas = new OffscreenCanvas(copy.videoWidth, copy.videoHeight);
    const pen = canvas.getContext('2d', { willReadFrequently: true });
    const moves = [];
    let before;
    for (let frame = 0; frame < SECONDS * FPS; frame++) {
        const sought = event(copy, 'seeked');
        copy.currentTime = (frame + 0.5) / FPS;
        await sought;
        // A busy browser may show the frame some time after the event.
        for (let look = 0; look < 60; look++) {
            pen.drawImage(copy, 0, 0);
            const { data } = pen.getImageData(0, 0, canvas.width, canvas.height);
            const moved = before?.some((part, place) => part != data[place]);
            if (moved) moves.push(frame);
            if (moved || !before) {
                before = data;
                break;
            }
            await new Promise(requestAnimationFrame);
        }
    }
    return { ...seen, moves };
}
watch()
    .catch(error => ({ error: String(error) }))
    .then(report => { window.report = report; });
</script>";

pub fn tests() -> Vec<Trial> {
    let test = a_browser_plays_a_video_and_shows_every_frame;
    vec![imagekiln_testbed::test(name_of(&test), &[BROWSER], Runtime::CurrentThread, test)]
}

async fn a_browser_plays_a_video_and_shows_every_frame() {
    let bench = Bench::new().await;
    let body = json!({ "duration": SECONDS, "fps": FPS, "width": WIDTH, "height": 360, "seed": 1 });
    let task = bench.submit("/v1/gen-3-video", &body).await;
    let sample = bench.sample(&task).await;
    let copy: Bytes = bench.fetch(&sample).await.body;

    let page = PAGE.replace("DELIVERY", &sample);
    let page = page.replace("SECONDS", &SECONDS.to_string()).replace("FPS", &FPS.to_string());
    let site =
        Router::new().route("/", get(async || Html(page))).route("/copy", get(async || copy));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, site).await });

    let report = Browser::with_reused(async |browser| {
        browser.open(&format!("http://{address}/")).await;
        browser.wait("window.report").await
    })
    .await;
    assert_eq!(report["error"], json!(null));
    let shape = [&report["duration"], &report["width"], &report["height"]];
    assert_eq!(shape, [&json!(SECONDS), &json!(WIDTH), &json!(360)]);
    assert_eq!(report["moves"], json!((1..SECONDS * FPS).collect::<Vec<_>>()));
}
