//! A video in a real browser, if there is one: it plays to its end, and every frame shows the
//! correct bar.

use std::{
    env,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use axum::{Router, body::Bytes, extract::RawQuery, response::Html, routing::get};
use serde_json::json;
use tokio::{net::TcpListener, sync::mpsc};
use url::form_urlencoded;

use super::bench::Bench;

const WIDTH: u32 = 640;
const SECONDS: u32 = 2;
const FPS: u32 = 8;

/// Plays the video from its delivery URL. Then seeks a copy of it to the middle of each frame, and
/// reports how many orange blocks the bar has, and how much of the rest differs from the second's
/// first frame.
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
    const seen = { duration: video.duration, width: video.videoWidth, height: video.videoHeight,
        sound: video.webkitAudioDecodedByteCount };
    const copy = document.createElement('video');
    copy.muted = true;
    copy.src = URL.createObjectURL(await (await fetch('/copy')).blob());
    await event(copy, 'loadeddata');
    const canvas = new OffscreenCanvas(copy.videoWidth, copy.videoHeight);
    const pen = canvas.getContext('2d', { willReadFrequently: true });
    const bars = [];
    let whole, changes = 0;
    for (let frame = 0; frame < SECONDS * FPS; frame++) {
        const sought = event(copy, 'seeked');
        copy.currentTime = (frame + 0.5) / FPS;
        await sought;
        pen.drawImage(copy, 0, 0);
        let bar = 0;
        for (let x = 8; x < canvas.width; x += 16) {
            const [red, green, blue] = pen.getImageData(x, 8, 1, 1).data;
            if (red > 220 && green > 140 && green < 210 && blue < 100) bar++;
        }
        bars.push(bar);
        const { data } = pen.getImageData(0, 24, canvas.width, canvas.height - 24);
        if (frame % FPS == 0) whole = data;
        changes += data.filter((part, place) => part != whole[place]).length;
    }
    return { ...seen, bars, changes };
}
watch()
    .catch(error => ({ error: String(error) }))
    .then(report => fetch('/report?' + new URLSearchParams(report)));
</script>";

/// Ends with the test.
struct Browser(Child);

impl Drop for Browser {
    fn drop(&mut self) {
        // Fails only if it has already exited.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn browser() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    env::split_paths(&path)
        .flat_map(|dir| names.map(|name| dir.join(name)))
        .find(|file| file.is_file())
}

#[tokio::test]
async fn a_browser_plays_a_video_and_shows_every_frame() {
    let Some(program) = browser() else {
        let required = env::var("IMAGEKILN_BROWSER_TESTS").is_ok_and(|value| value == "required");
        assert!(!required, "no chromium on the PATH (on Debian: apt-get install chromium)");
        eprintln!("skipped: no chromium on the PATH (on Debian: apt-get install chromium)");
        return;
    };
    let bench = Bench::new().await;
    let body = json!({ "duration": SECONDS, "fps": FPS, "width": WIDTH, "height": 360, "seed": 1 });
    let task = bench.submit("/v1/gen-3-video", &body).await;
    let sample = bench.sample(&task).await;
    let copy: Bytes = bench.fetch(&sample).await.body;

    let page = PAGE.replace("DELIVERY", &sample);
    let page = page.replace("SECONDS", &SECONDS.to_string()).replace("FPS", &FPS.to_string());
    let (reports, mut reported) = mpsc::channel(1);
    let site = Router::new()
        .route("/", get(async || Html(page)))
        .route("/copy", get(async || copy))
        .route(
            "/report",
            get(async move |RawQuery(query): RawQuery| {
                reports.send(query.unwrap_or_default()).await.unwrap();
            }),
        );
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let site = tokio::spawn(async move { axum::serve(listener, site).await });

    let profile = tempfile::tempdir().unwrap();
    let switches = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--autoplay-policy=no-user-gesture-required",
    ];
    let mut command = Command::new(program);
    command.args(switches).arg(format!("--user-data-dir={}", profile.path().display()));
    command.arg(format!("http://{address}/")).stdout(Stdio::null()).stderr(Stdio::null());
    let browser = Browser(command.spawn().unwrap());

    let report = tokio::time::timeout(Duration::from_secs(90), reported.recv()).await;
    drop(browser);
    site.abort();
    let report = report.expect("no report from the browser").unwrap();
    let report: Vec<_> = form_urlencoded::parse(report.as_bytes()).into_owned().collect();
    let said =
        |name: &str| report.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    assert_eq!(said("error"), None);
    assert_eq!(
        (said("duration"), said("width"), said("height")),
        (Some("2"), Some("640"), Some("360"))
    );
    assert!(said("sound").is_some_and(|bytes| bytes != "0"), "{report:?}");
    assert_eq!(said("changes"), Some("0"));
    let second = ["5", "10", "15", "20", "25", "30", "35", "40"];
    assert_eq!(said("bars"), Some([second, second].concat().join(",").as_str()));
}
