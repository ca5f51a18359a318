//! Videos, as seen by a demultiplexer.

use std::io::Cursor;

use axum::{body::Bytes, http::header};
use image::RgbImage;
use image_webp::WebPDecoder;
use matroska_demuxer::{Frame, MatroskaFile, TrackType};
use serde_json::json;

use super::bench::Bench;

pub const PATH: &str = "/v1/gen-3-video";

/// A demultiplexed video.
pub struct Film {
    pub duration_ms: f64,
    pub size: (u64, u64),
    codecs: Vec<(TrackType, String)>,
    pub frames: Vec<Frame>,
}

impl Film {
    pub fn read(bytes: &Bytes) -> Self {
        let mut file = MatroskaFile::open(Cursor::new(bytes)).unwrap();
        assert_eq!(file.ebml_header().doc_type(), "webm");
        assert_eq!(file.info().timestamp_scale().get(), 1_000_000, "timestamps are milliseconds");
        let pictures = file.tracks()[0].video().unwrap();
        let mut film = Self {
            duration_ms: file.info().duration().unwrap(),
            size: (pictures.pixel_width().get(), pictures.pixel_height().get()),
            codecs: file
                .tracks()
                .iter()
                .map(|track| (track.track_type(), track.codec_id().to_owned()))
                .collect(),
            frames: Vec::new(),
        };
        let mut frame = Frame::default();
        while file.next_frame(&mut frame).unwrap() {
            film.frames.push(frame.clone());
        }
        film
    }

    fn times(&self) -> Vec<u64> {
        self.frames.iter().map(|frame| frame.timestamp).collect()
    }
}

/// Decodes a VP8 key frame by wrapping it in a WebP file.
pub fn decode(frame: &Frame) -> RgbImage {
    let mut data = frame.data.clone();
    let length = data.len() as u32;
    data.resize(data.len().next_multiple_of(2), 0);
    let riff_length = (data.len() as u32 + 12).to_le_bytes();
    let webp = [&b"RIFF"[..], &riff_length, b"WEBPVP8 ", &length.to_le_bytes(), &data].concat();
    let mut decoder = WebPDecoder::new(Cursor::new(webp)).unwrap();
    let (width, height) = decoder.dimensions();
    let mut pixels = vec![0; decoder.output_buffer_size().unwrap()];
    decoder.read_image(&mut pixels).unwrap();
    RgbImage::from_raw(width, height, pixels).unwrap()
}

#[tokio::test]
async fn a_video_has_the_requested_duration_and_size() {
    let bench = Bench::new().await;
    for (body, seconds, rate, size) in [
        (json!({}), 5, 6, (1920, 1088)),
        (json!({ "duration": 1, "fps": 2, "aspect_ratio": "16:9" }), 1, 2, (1920, 1088)),
        (json!({ "duration": 1, "fps": 2, "aspect_ratio": "2:3" }), 1, 2, (1184, 1760)),
        (
            json!({ "mode": "t2v", "duration": null, "fps": 2.0, "aspect_ratio": "2:1" }),
            5,
            2,
            (2032, 1024),
        ),
        (json!({ "duration": 20, "width": 160, "height": 96 }), 20, 6, (160, 96)),
        (json!({ "duration": 2, "fps": 5, "width": 70, "height": 50 }), 2, 5, (70, 50)),
        (json!({ "duration": 1.0, "fps": 1, "width": 1, "height": 1 }), 1, 1, (1, 1)),
    ] {
        let film = Film::read(&bench.picture(PATH, &body).await);
        assert_eq!(film.duration_ms, f64::from(seconds) * 1000.0, "{body}");
        assert_eq!(film.size, size, "{body}");
        assert_eq!(film.codecs, [(TrackType::Video, "V_VP8".to_owned())]);
        let expected = (0..seconds * rate)
            .map(|number| (f64::from(number) * 1000.0 / f64::from(rate)).round() as u64);
        assert_eq!(film.times(), expected.collect::<Vec<_>>(), "{body}");
        for frame in [film.frames.first().unwrap(), film.frames.last().unwrap()] {
            let (width, height) = decode(frame).dimensions();
            assert_eq!((width.into(), height.into()), size, "{body}");
        }
    }
}

#[tokio::test]
async fn a_video_moves_and_keeps_its_caption() {
    let bench = Bench::new().await;
    let body = json!({ "prompt": "a fox", "seed": 7, "duration": 3, "width": 640, "height": 360 });
    let bytes = bench.picture(PATH, &body).await;
    assert_eq!(bytes, bench.picture(PATH, &body).await, "the same request gives the same bytes");
    let frames = Film::read(&bytes).frames;
    assert!(frames.windows(2).all(|pair| pair[0].data != pair[1].data), "each frame differs");

    let seconds: Vec<_> = frames.iter().step_by(6).map(decode).collect();
    let foot = |picture: &RgbImage| image::imageops::crop_imm(picture, 0, 330, 640, 30).to_image();
    let art = |picture: &RgbImage| image::imageops::crop_imm(picture, 0, 60, 640, 200).to_image();
    for pair in seconds.windows(2) {
        let change =
            foot(&pair[0]).iter().zip(foot(&pair[1]).iter()).map(|(a, b)| a.abs_diff(*b)).max();
        assert!(change < Some(24), "the caption must not move: {change:?}");
        let (before, after) = (art(&pair[0]), art(&pair[1]));
        let moved = before.iter().zip(after.iter()).filter(|(a, b)| a.abs_diff(**b) > 8).count();
        assert!(moved > 2000, "the picture must move: {moved}");
    }
}

#[tokio::test]
async fn a_video_is_delivered_as_webm() {
    let bench = Bench::new().await;
    let body = json!({ "output_format": "png", "duration": 1, "width": 64, "height": 64 });
    let task = bench.submit(PATH, &body).await;
    assert_eq!(bench.view(&task).media_type, "video/webm");
    let sample = bench.sample(&task).await;
    assert!(sample.contains(".webm?"), "{sample}");
    let response = bench.fetch(&sample).await;
    assert_eq!(response.headers[header::CONTENT_TYPE], "video/webm");
    assert_eq!(Film::read(&response.body).duration_ms, 1000.0);
}

#[tokio::test]
async fn unsupported_videos_are_rejected() {
    let bench = Bench::new().await;
    for (body, expected) in [
        (json!({ "duration": 0 }), "body.duration greater_than_equal"),
        (json!({ "duration": 21 }), "body.duration less_than_equal"),
        (json!({ "duration": 2.5 }), "body.duration int_from_float"),
        (json!({ "duration": "5" }), "body.duration int_parsing"),
        (
            json!({ "duration": -1e300, "fps": u64::MAX }),
            "body.duration greater_than_equal, body.fps less_than_equal",
        ),
        (json!({ "fps": 25 }), "body.fps less_than_equal"),
        (json!({ "fps": [24] }), "body.fps int_type"),
        (json!({ "width": 1920, "height": 1089 }), "body value_error"),
    ] {
        bench.assert_violations("gen-3-video", &body, expected).await;
    }
    // Other operations ignore these fields.
    bench.submit("/v1/gen-2-klein-4b", &json!({ "duration": "long" })).await;
}
