//! The structure of a picture decides whether it is complete, not the declared length.

use crate::support::{
    reply::Reply,
    samples::{PNG, assert_kind, large_png, ready_picture},
};
use imagekiln::{ErrorKind, FileKind};

fn jpeg() -> Vec<u8> {
    imagekiln_testbed::picture::encoded(image::RgbImage::new(16, 16), image::ImageFormat::Jpeg)
}

fn iso_file(brand: &[u8], index: &[u8]) -> Vec<u8> {
    [b"\0\0\0\x10ftyp", brand, b"\0\0\0\0\0\0\0\x0c", index, b"abcd\0\0\0\x0cmdatabcd"].concat()
}

#[tokio::test(start_paused = true)]
async fn half_a_picture_with_a_matching_length_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    for half in [&large_png(9000)[..4000], &jpeg()[..300], &iso_file(b"isom", b"moov")[..28]] {
        for reply in [Reply::png, |half: &[u8]| Reply::png(half).until_close()] {
            let (_service, delivery, picture) = ready_picture().await;
            let half = half.to_vec();
            delivery.otherwise(move |_| reply(&half));

            for error in [
                picture.bytes().await.unwrap_err(),
                picture.save(directory.path().join("fox")).await.unwrap_err(),
            ] {
                assert_kind(&error, ErrorKind::Damaged);
                assert!(error.to_string().contains("is truncated"), "{error}");
            }
            assert_eq!(delivery.received().len(), 8);
        }
    }
    assert!(!directory.path().join("fox").exists());
}

#[tokio::test(start_paused = true)]
async fn a_damaged_picture_is_refused() {
    let mut png = large_png(3000);
    png[12..16].copy_from_slice(b"JHDR");
    let (_service, delivery, picture) = ready_picture().await;
    delivery.otherwise(move |_| Reply::png(&png));

    let error = picture.bytes().await.unwrap_err();

    assert_kind(&error, ErrorKind::Damaged);
    assert!(error.to_string().contains("damaged"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn bytes_after_the_end_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    for complete in [PNG.to_vec(), jpeg(), iso_file(b"isom", b"moov")] {
        let with_trailer = [&complete[..], b"\r\n<!-- cached -->"].concat();
        for reply in [Reply::png, |body: &[u8]| Reply::png(body).until_close()] {
            let (_service, delivery, picture) = ready_picture().await;
            delivery.reply(reply(&with_trailer)).reply(reply(&with_trailer));

            assert_eq!(picture.bytes().await.unwrap(), with_trailer);
            let saved = picture.save(directory.path().join("fox")).await.unwrap();
            assert_eq!(saved.bytes, with_trailer.len() as u64);
            assert_eq!(std::fs::read(saved.path).unwrap(), with_trailer);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_breaks_after_the_end_is_ignored() {
    let directory = tempfile::tempdir().unwrap();
    for complete in [PNG.to_vec(), jpeg(), iso_file(b"isom", b"moov")] {
        let too_long = complete.len() + 100;
        for broken in [
            Reply::png(&complete).declaring_length(too_long).then_close(),
            Reply::png(&complete).declaring_length(too_long).then_reset(),
            Reply::png(&complete).declaring_length(too_long).then_silence(),
            Reply::cut_chunks(&complete),
        ] {
            let (_service, delivery, picture) = ready_picture().await;
            delivery.reply(broken);

            assert_eq!(picture.bytes().await.unwrap(), complete);
            delivery.only_request().assert_has_no_key();
        }
        let (_service, delivery, picture) = ready_picture().await;
        delivery.reply(Reply::png(&complete).declaring_length(too_long).then_close());
        let saved = picture.save(directory.path().join("fox")).await.unwrap();
        assert_eq!(std::fs::read(saved.path).unwrap(), complete);
    }
}

/// The end of the response is the end of the video, so a broken connection is not.
#[tokio::test(start_paused = true)]
async fn a_video_without_an_end_marker_is_retried_if_the_connection_breaks() {
    let video =
        [&b"\0\0\0\x10ftypisom\0\0\0\0\0\0\0\x0cmoovabcd"[..], b"\0\0\0\0mdat", &[7; 500]].concat();
    let (_service, delivery, picture) = ready_picture().await;
    delivery
        .reply(Reply::status(200).body(&video[..200]).declaring_length(video.len()).then_close())
        .reply(Reply::status(200).body(&video));

    assert_eq!(picture.bytes().await.unwrap(), video);
}

#[tokio::test(start_paused = true)]
async fn the_kind_is_detected_from_the_content() {
    let directory = tempfile::tempdir().unwrap();
    for (bytes, kind, extension) in [
        (PNG.to_vec(), FileKind::Png, "png"),
        (jpeg(), FileKind::Jpeg, "jpg"),
        (iso_file(b"avif", b"meta"), FileKind::Avif, "avif"),
        (iso_file(b"heic", b"meta"), FileKind::Heif, "heif"),
        (iso_file(b"isom", b"moov"), FileKind::Mp4, "mp4"),
        (iso_file(b"qt  ", b"moov"), FileKind::Mp4, "mp4"),
    ] {
        let (_service, delivery, picture) = ready_picture().await;
        delivery.reply(Reply::status(200).header("Content-Type", "application/json").body(&bytes));

        let saved = picture.save(directory.path().join("fox")).await.unwrap();

        assert_eq!(saved.kind, Some(kind));
        assert_eq!(kind.extension(), extension);
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_check_any_content_is_returned() {
    for body in [&b""[..], b"<html>", &PNG[..40], b"\xff\x0a: a JPEG XL", PNG] {
        let (_service, delivery, picture) = ready_picture().await;
        delivery
            .reply(Reply::html(503))
            .reply(Reply::status(200).body(body).declaring_length(1000).then_reset())
            .reply(Reply::status(200).body(body));
        if body == PNG {
            // Complete when the connection broke, so it is not downloaded again.
            delivery.otherwise(|_| Reply::status(500));
            assert_eq!(picture.bytes_unchecked().await.unwrap(), PNG);
            assert_eq!(delivery.received().len(), 2);
            picture.bytes_unchecked().await.unwrap();
            continue;
        }

        assert_eq!(picture.bytes_unchecked().await.unwrap(), body);
        delivery.assert_no_request_has_the_key();
    }
}
