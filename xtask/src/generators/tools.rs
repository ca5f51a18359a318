//! The linters and generators, and how each is run.

use super::{
    environment::GO_VALIDATOR,
    install::Registry::{Npm, PyPi},
    tool::{Client, Tool},
};

/// The contract, as seen from the directory of a tool.
const CONTRACT: &str = "../../../openapi.json";

const TYPESCRIPT: Client = Client {
    build: &[
        "tsc",
        "driver.ts",
        "--strict",
        "--outDir",
        "built",
        "--rootDir",
        ".",
        "--target",
        "ES2022",
        "--module",
        "CommonJS",
        "--moduleResolution",
        "Node10",
        "--types",
        "node",
    ],
    run: &["node", "built/driver.js"],
};

const PYTHON: Client = Client {
    build: &["python", "-m", "compileall", "-q", "generated", "driver.py"],
    run: &["python", "driver.py"],
};

pub const TOOLS: [Tool; 9] = [
    Tool {
        name: "redocly",
        registry: Npm,
        package: "@redocly/cli",
        needs: &[],
        generate: &["redocly", "lint", CONTRACT, "--extends", "recommended", "--format", "stylish"],
        client: None,
    },
    Tool {
        name: "spectral",
        registry: Npm,
        package: "@stoplight/spectral-cli",
        needs: &[],
        generate: &["spectral", "lint", CONTRACT, "--ruleset", "ruleset.json"],
        client: None,
    },
    Tool {
        name: "openapi-typescript",
        registry: Npm,
        package: "openapi-typescript",
        needs: &[],
        // By default, fields with a default value are required, also in requests.
        generate: &[
            "openapi-typescript",
            CONTRACT,
            "--output",
            "generated/schema.d.ts",
            "--default-non-nullable",
            "false",
        ],
        client: Some(TYPESCRIPT),
    },
    Tool {
        name: "hey-api",
        registry: Npm,
        package: "@hey-api/openapi-ts",
        needs: &[],
        generate: &["openapi-ts", "--no-log-file", "-i", CONTRACT, "-o", "generated"],
        client: Some(TYPESCRIPT),
    },
    Tool {
        name: "openapi-python-client",
        registry: PyPi,
        package: "openapi-python-client",
        needs: &[],
        generate: &[
            "openapi-python-client",
            "generate",
            "--path",
            CONTRACT,
            "--output-path",
            "generated",
        ],
        client: Some(PYTHON),
    },
    Tool {
        name: "openapi-generator-python",
        registry: PyPi,
        package: "openapi-generator-cli",
        needs: &["java"],
        generate: &openapi_generator("python", "generated"),
        client: Some(PYTHON),
    },
    Tool {
        name: "openapi-generator-typescript",
        registry: PyPi,
        package: "openapi-generator-cli",
        needs: &["java", "tsc"],
        generate: &openapi_generator("typescript-fetch", "generated"),
        client: Some(TYPESCRIPT),
    },
    Tool {
        name: "openapi-generator-go",
        registry: PyPi,
        package: "openapi-generator-cli",
        needs: &["java", "go", GO_VALIDATOR],
        generate: &openapi_generator("go", "src/openapi"),
        client: Some(Client {
            build: &["go", "build", "-o", "driver", "driver"],
            run: &["./driver"],
        }),
    },
    Tool {
        name: "openapi-generator-rust",
        registry: PyPi,
        package: "openapi-generator-cli",
        needs: &["java"],
        generate: &openapi_generator("rust", "generated"),
        client: Some(Client {
            build: &["cargo", "build", "--quiet"],
            run: &["../cargo/debug/driver"],
        }),
    },
];

/// The command of openapi-generator for a language. `enumClassPrefix` is an option for Go, which
/// has one namespace for the values of all enums. Other languages ignore it.
const fn openapi_generator(language: &'static str, output: &'static str) -> [&'static str; 10] {
    [
        "openapi-generator-cli",
        "generate",
        "--input-spec",
        CONTRACT,
        "--generator-name",
        language,
        "--output",
        output,
        "--additional-properties",
        "enumClassPrefix=true",
    ]
}

/// Generators that cannot be installed from npm or PyPI, and why they are not run.
pub const NOT_INSTALLABLE: [(&str, &str); 1] =
    [("oapi-codegen", "it is a Go module without a Debian package; Go modules are not downloaded")];

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;

    #[test]
    fn each_client_has_a_program_and_each_program_a_client() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("generators");
        let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
        let folders = entries.filter(|entry| entry.path().is_dir());
        let mut folders: Vec<_> =
            folders.map(|entry| entry.file_name().into_string().unwrap()).collect();
        let has_files = |tool: &&Tool| tool.client.is_some() || tool.name == "spectral";
        let mut names: Vec<_> =
            TOOLS.iter().filter(has_files).map(|tool| tool.name.to_owned()).collect();
        folders.sort();
        names.sort();
        assert_eq!(folders, names);
    }
}
