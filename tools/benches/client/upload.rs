//! A submission with eight images of 8 MB, from memory and from files, against a body that is
//! already serialized.

use std::hint::black_box;

use base64::{
    Engine as _,
    engine::{GeneralPurposeConfig, Simd},
};
use bytes::Bytes;
use imagekiln::ImageInput;
use imagekiln_testbed::bench::figure;
use tokio::{runtime::Runtime, time::Instant};

use super::{
    images::{PICTURE, png, request},
    measure::{Candidate, Plan, compare},
    server::Server,
    submission::{Bare, client},
};

pub fn run(runtime: &Runtime, server: &Server) {
    let (client, bare) = (client(server), Bare::new(server));
    let (client, bare) = (&client, &bare);
    // Each in its own memory, because images that are all the same would stay in the cache.
    let images = [(); 8].map(|()| Bytes::from(png(PICTURE)));
    let folder = tempfile::tempdir().unwrap();
    let paths = ["1", "2", "3", "4", "5", "6", "7", "8"].map(|name| folder.path().join(name));
    paths.iter().zip(&images).for_each(|(path, image)| std::fs::write(path, image).unwrap());
    let from_memory = || request(images.clone());
    let from_files = || request(paths.each_ref().map(ImageInput::path));
    let ready = Bytes::from(serde_json::to_vec(&from_memory()).unwrap());
    let (from_memory, from_files, ready) = (&from_memory, &from_files, &ready);
    let ready = || {
        Candidate::new("ready_body", move |operations| async move {
            for _ in 0..operations {
                bare.submit(ready.clone().into()).await;
            }
        })
    };
    let memory = Candidate::new("imagekiln", |operations| async move {
        for _ in 0..operations {
            let _task = client.submit(from_memory()).await.unwrap();
        }
    });
    let usual = Candidate::new("to_vec", |operations| async move {
        for _ in 0..operations {
            bare.submit(serde_json::to_vec(&from_memory()).unwrap().into()).await;
        }
    });
    let plan = Plan::new(15, 4);
    compare(runtime, "upload.memory", plan, &[memory, ready(), usual]);
    figure("upload.encoder.cpu", "us", (0..15).map(|_| encoding(&images)).collect());
    let files = Candidate::new("imagekiln", |operations| async move {
        for _ in 0..operations {
            let _task = client.submit(from_files()).await.unwrap();
        }
    });
    compare(runtime, "upload.files", plan, &[files, ready()]);
}

/// Returns the microseconds that the base64 encoder needs for the images, in the pieces in which
/// the client sends them.
fn encoding(images: &[Bytes]) -> f64 {
    let encoder = Simd::standard(GeneralPurposeConfig::new());
    let mut frame = vec![0; 64 * 1024];
    let started = Instant::now();
    for piece in images.iter().flat_map(|image| image.chunks(48 * 1024)) {
        black_box(encoder.encode_slice(black_box(piece), &mut frame).unwrap());
    }
    started.elapsed().as_secs_f64() * 1e6
}
