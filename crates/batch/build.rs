//! Sets the cfg `bucket` if a feature for a kind of bucket is turned on.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(bucket)");
    let features = ["CARGO_FEATURE_S3", "CARGO_FEATURE_GCS", "CARGO_FEATURE_AZURE"];
    if features.into_iter().any(|feature| env::var_os(feature).is_some()) {
        println!("cargo::rustc-cfg=bucket");
    }
}
