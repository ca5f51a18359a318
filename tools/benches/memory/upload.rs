//! The most memory that an upload of eight images needs at any time, besides the images.

use bytes::Bytes;
use imagekiln::{Client, ImageInput, types::Gen2Pro};
use imagekiln_testbed::bench::figure;
use tokio::runtime::Runtime;

use super::{
    HEAP, MIB,
    images::{PICTURE, png, request},
    measure::Plan,
    server::Server,
};

pub fn run(runtime: &Runtime, server: &Server) {
    let client = Client::builder().api_key("key").base_url(&*server.url).build().unwrap();
    let image = Bytes::from(png(PICTURE));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image.png");
    std::fs::write(&path, &image).unwrap();
    let submit = |request: Gen2Pro| {
        let _task = runtime.block_on(client.submit(request)).unwrap();
    };
    submit(Gen2Pro::new("a first request, which opens the connection"));
    let plan = Plan::new(5, 1);
    measure("upload.memory.heap", plan, || submit(request([(); 8].map(|()| image.clone()))));
    measure("upload.files.heap", plan, || {
        submit(request([(); 8].map(|()| ImageInput::path(&path))))
    });
    measure("upload.to_vec.heap", plan, || {
        let body = serde_json::to_vec(&request([(); 8].map(|()| image.clone()))).unwrap();
        let url = format!("{}/v1/gen-2-pro", server.url);
        runtime.block_on(reqwest::Client::new().post(url).body(body).send()).unwrap();
    });
}

/// Prints by how much `run` exceeds the heap that was in use before it.
fn measure(name: &str, plan: Plan, run: impl Fn()) {
    let rounds = (0..plan.rounds).map(|_| {
        HEAP.reset_peak_usage();
        let before = HEAP.current_usage();
        run();
        (HEAP.peak_usage() - before) as f64 / MIB
    });
    figure(name, "MiB", rounds.collect());
}
