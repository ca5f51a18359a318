//! Work on a request that needs no server: the check against the limits of the contract, against
//! the conversion that precedes it, and the request as text.

use std::hint::black_box;

use imagekiln::{Submit, types::Gen2Pro};
use tokio::runtime::Runtime;

use super::{
    measure::{Candidate, Plan, compare},
    server::Server,
};

pub fn run(runtime: &Runtime, _: &Server) {
    let request = || Gen2Pro::new("a red fox in the snow").width(1024).height(768).seed(7);
    let ready = request().into_request();
    let ready = &ready;
    let validate = repeated("imagekiln", || {
        black_box(ready).validate().unwrap();
    });
    let serialize = repeated("to_vec", || {
        black_box(serde_json::to_vec(black_box(&request())).unwrap());
    });
    compare(runtime, "request.validate", Plan::new(15, 100_000), &[validate, serialize]);
    let convert = repeated("imagekiln", || {
        let _ = black_box(black_box(request()).into_request());
    });
    let serialize = repeated("to_vec", || {
        black_box(serde_json::to_vec(black_box(&request())).unwrap());
    });
    compare(runtime, "request.convert", Plan::new(15, 100_000), &[convert, serialize]);
}

/// A candidate that calls a function.
pub fn repeated<'a>(name: &'static str, run: impl Fn() + Copy + 'a) -> Candidate<'a> {
    Candidate::new(name, move |operations| async move {
        for _ in 0..operations {
            run();
        }
    })
}
