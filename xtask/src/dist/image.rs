//! The container image: an OCI archive that contains the static program.

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use super::archive::{self, File};
use crate::repository;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// Returns an image for an architecture, with the settings of the `Dockerfile`.
pub fn archive(program: &[u8], architecture: &str, version: &str) -> Result<Vec<u8>> {
    let layer = archive::tar("", &[File::program("kiln", program)])?;
    let mut files = vec![File::new("oci-layout", r#"{"imageLayoutVersion":"1.0.0"}"#)];
    let mut add = |media_type: &str, content: Vec<u8>| {
        let digest = archive::sha256(&content);
        let size = content.len();
        files.push(File::new(format!("blobs/sha256/{digest}"), content));
        json!({"mediaType": media_type, "digest": format!("sha256:{digest}"), "size": size})
    };
    let config = json!({
        "architecture": architecture,
        "os": "linux",
        "config": settings(&repository::read("Dockerfile")?)?,
        "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{}", archive::sha256(&layer))]},
    });
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": add(CONFIG, config.to_string().into()),
        "layers": [add(LAYER, archive::gzip(&layer)?)],
    });
    let mut image = add(MANIFEST, manifest.to_string().into());
    image["platform"] = json!({"architecture": architecture, "os": "linux"});
    image["annotations"] = json!({
        "io.containerd.image.name": format!("imagekiln/kiln:{version}"),
        "org.opencontainers.image.ref.name": version,
    });
    let index = json!({"schemaVersion": 2, "manifests": [image]});
    files.push(File::new("index.json", index.to_string()));
    archive::tar("", &files)
}

/// Returns the settings of an image that the last stage of a `Dockerfile` makes.
fn settings(dockerfile: &str) -> Result<Value> {
    let (_, stage) = dockerfile.rsplit_once("\nFROM ").context("the Dockerfile has one stage")?;
    let value = |name: &str| {
        let value = stage.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.with_context(|| format!("the Dockerfile has no {name}"))
    };
    let words = |name| -> Result<Value> { Ok(serde_json::from_str(value(name)?)?) };
    let ports = value("EXPOSE")?.split(' ').map(|port| (format!("{port}/tcp"), json!({})));
    Ok(json!({
        "User": value("USER")?,
        "ExposedPorts": ports.collect::<Map<_, _>>(),
        "Entrypoint": words("ENTRYPOINT")?,
        "Cmd": words("CMD")?,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_are_those_of_the_last_stage() {
        let dockerfile = "FROM a AS build\nUSER root\nFROM scratch\nUSER 1:1\nEXPOSE 1 2\n\
                          ENTRYPOINT [\"/kiln\"]\nCMD [\"simulate\", \"--strict\"]\n";
        let expected = json!({
            "User": "1:1",
            "ExposedPorts": {"1/tcp": {}, "2/tcp": {}},
            "Entrypoint": ["/kiln"],
            "Cmd": ["simulate", "--strict"],
        });
        assert_eq!(settings(dockerfile).unwrap(), expected);
        let error = settings(&dockerfile.replace("EXPOSE 1 2\n", "")).unwrap_err();
        assert_eq!(error.to_string(), "the Dockerfile has no EXPOSE");
    }
}
