//! The tasks of every operation.

use serde_json::json;

use super::config;
use crate::{
    bench::{Bench, png},
    contract::submissions,
};

#[tokio::test]
async fn tasks_of_every_operation_are_restored() {
    let first = Bench::with(config()).await;
    for submission in submissions() {
        for body in [submission.minimal(), submission.full()] {
            let base = if submission.regional {
                first.sim.regional_base_url()
            } else {
                first.sim.base_url()
            };
            let response = first.post_at(base, &submission.path, body.to_string()).await;
            assert_eq!(response.status, 200, "{response:?}");
        }
    }
    let mut document = first.snapshot().await;
    // Earlier simulators accepted larger seeds than those of the contract.
    document["records"]["tasks"]["kept"]["0"]["picture"]["seed"] = json!(u64::MAX.to_string());
    let second = Bench::restored(config(), &document).await;
    assert_eq!(second.snapshot().await, document);
    let views = |bench: &Bench| {
        let tasks = bench.sim.tasks().into_iter();
        tasks
            .map(|task| {
                format!("{:?}", (task.operation, task.operation_id, task.region, task.request))
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(views(&second), views(&first));
}

#[tokio::test]
async fn pictures_have_the_same_bytes() {
    let first = Bench::with_finetunes(&["my-style"]).await;
    let (image, mask) = (png(64, 48), png(64, 48));
    let settings = json!({
        "prompt": "a red fox in the snow ".repeat(40), "finetune_id": "my-style", "seed": 7,
        "finetune_strength": 1.2345678, "guidance": 3.3, "steps": 21, "output_format": "png",
    });
    for (path, body) in [
        ("/v1/gen-2-flex", json!({ "prompt": "cat", "width": 512, "height": 256, "seed": -3 })),
        ("/v1/gen-pro-1.0-fill-finetuned", {
            let mut body = settings.clone();
            body["image"] = json!(image);
            body["mask"] = json!(mask);
            body
        }),
        (
            "/v1/gen-pro-1.0-expand",
            json!({ "image": image, "left": 32, "top": 16, "prompt": "sea" }),
        ),
        ("/v1/gen-tools/erase-v1", json!({ "image": image, "mask": mask, "dilation": 3 })),
        (
            "/v1/gen-2-pro",
            json!({
                "prompt": "x",
                "input_image": image,
                "input_image_2": "https://images.example/a.png",
                "width": 256, "height": 256,
            }),
        ),
        (
            "/v1/gen-3-video",
            json!({
                "prompt": "x", "width": 96, "height": 64, "duration": 2, "fps": 3, "mode": "i2v",
                "keyframes": [{ "image": image, "time": 0.1 }, { "image": mask, "time": 1.7 }],
            }),
        ),
    ] {
        first.submit(path, &body).await;
    }
    let document = first.snapshot().await;
    first.advance(10.0);
    let second = Bench::restored(config(), &document).await;
    second.advance(10.0);
    for task in first.sim.tasks() {
        let path = format!("/api/tasks/{}/picture", task.id);
        let [before, after] = [&first, &second].map(async |bench| {
            let url = format!("{}{path}", bench.sim.control_url());
            let response = bench.fetch(&url).await;
            assert_eq!(response.status, 200, "{task:?}: {response:?}");
            response.body
        });
        assert!(before.await == after.await, "{task:?}");
    }
}
