//! Deliveries that are compressed, although the client does not request it.

use std::io::Write as _;

use flate2::{
    Compression,
    write::{GzEncoder, ZlibEncoder},
};

use crate::support::{
    reply::Reply,
    samples::{assert_kind, large_png, ready_picture, ready_picture_with},
};
use imagekiln::ErrorKind;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn encoded(encoding: &str, body: &[u8]) -> Reply {
    Reply::png(body).header("Content-Encoding", encoding)
}

#[tokio::test(start_paused = true)]
async fn a_compressed_delivery_is_the_picture() {
    let png = large_png(300_000);
    let packed = gzip(&png);
    let (one, other) = png.split_at(70_000);
    let cases: [(&str, &dyn Fn() -> Reply); 11] = [
        ("gzip", &|| encoded("gzip", &packed)),
        ("without a length", &|| encoded("GZIP", &packed).until_close()),
        ("the old name", &|| encoded("x-gzip", &packed)),
        ("not declared", &|| Reply::png(&packed)),
        ("declared but not used", &|| encoded("gzip", &png)),
        ("two members", &|| encoded("gzip", &[gzip(one), gzip(other)].concat())),
        ("bytes after the end", &|| encoded("gzip", &[&packed[..], b"\0\0padding"].concat())),
        ("broken after the end", &|| {
            encoded("gzip", &packed).declaring_length(1 << 20).then_close()
        }),
        ("silent after the end", &|| {
            encoded("gzip", &packed).declaring_length(1 << 20).then_silence()
        }),
        ("deflate", &|| encoded("deflate", &zlib(&png))),
        ("deflate, declared but not used", &|| encoded("deflate", &png)),
    ];
    for (case, reply) in cases {
        let (_service, delivery, picture) = ready_picture().await;
        delivery.reply(reply());

        let bytes = picture.bytes().await;

        assert!(bytes.unwrap_or_else(|error| panic!("{case}: {error:?}")) == png, "{case}");
        assert_eq!(delivery.received().len(), 1, "{case}");
    }
}

#[tokio::test]
async fn a_compressed_delivery_is_saved_decompressed() {
    let directory = tempfile::tempdir().unwrap();
    let png = large_png(200_000);
    let (_service, delivery, picture) = ready_picture().await;
    delivery.reply(encoded("gzip", &gzip(&png)));

    let saved = picture.save(directory.path().join("fox.png")).await.unwrap();

    assert!(std::fs::read(&saved.path).unwrap() == png);
    assert_eq!(saved.bytes, png.len() as u64);
}

#[tokio::test(start_paused = true)]
async fn compressed_bytes_may_arrive_one_by_one() {
    let png = large_png(2000);
    let (_service, delivery, picture) = ready_picture().await;
    let (reply, pieces) = encoded("gzip", b"").until_close().in_pieces();
    delivery.reply(reply);
    gzip(&png).chunks(1).for_each(|byte| pieces.send(byte));
    drop(pieces);

    assert!(picture.bytes().await.unwrap() == png);
}

#[tokio::test(start_paused = true)]
async fn a_compressed_delivery_that_is_incomplete_is_not_saved() {
    let packed = gzip(&large_png(300_000));
    let mut damaged = packed.clone();
    damaged[1000..1100].fill(0xff);
    for body in [&packed[..packed.len() / 2], &damaged, &packed[..5], &packed[..1]] {
        let (_service, delivery, picture) = ready_picture().await;
        let body = body.to_vec();
        delivery.otherwise(move |_| encoded("gzip", &body));

        assert_kind(&picture.bytes().await.unwrap_err(), ErrorKind::Damaged);
        assert_eq!(delivery.received().len(), 4);
    }
}

/// 30 MB of zeros in 30 KB: the limit is that of the picture, and counts from the first piece.
#[tokio::test(start_paused = true)]
async fn the_size_limit_is_that_of_the_decompressed_picture() {
    let (_service, delivery, picture) =
        ready_picture_with(|builder| builder.max_picture_bytes(100_000)).await;
    let png = large_png(100_000);
    let bomb = gzip(&[&png[..1000], &vec![0; 30_000_000]].concat());
    delivery.reply(encoded("gzip", &bomb));

    let error = picture.bytes_unchecked().await.unwrap_err();
    assert_kind(&error, ErrorKind::Download);
    assert_eq!(error.function(), Some("ClientBuilder::max_picture_bytes"));

    // The picture is allowed, and its compressed form is larger.
    let packed = gzip(&png);
    let body = [&packed[..], &[0; 100_000]].concat();
    delivery.reply(encoded("gzip", &body));
    assert!(picture.bytes().await.unwrap() == png);
}

#[tokio::test(start_paused = true)]
async fn an_error_names_an_encoding_that_the_client_does_not_know() {
    let (_service, delivery, picture) = ready_picture().await;
    delivery.otherwise(|_| encoded("br", b"\x1b\x03"));

    let error = picture.bytes().await.unwrap_err();
    assert!(error.message().contains("content encoding br"), "{error}");
}
