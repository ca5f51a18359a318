//! The linters and generators, and their commands.

use super::{
    environment::{
        GO_VALIDATOR,
        Registry::{Npm, PyPi},
    },
    tool::{Client, Tool},
};

/// Linters have no client.
const LINTER: Option<Client> = None;

const TYPESCRIPT: Option<Client> = Some(Client {
    build: "tsc driver.ts --strict --outDir built --rootDir . --target ES2022 --module CommonJS \
            --moduleResolution Node10 --types node",
    run: "node built/driver.js",
});

const PYTHON: Option<Client> =
    Some(Client { build: "python -m compileall -q generated driver.py", run: "python driver.py" });

/// The options of `openapi-generator-cli` for every language. `enumClassPrefix` is an option for
/// Go, which has one namespace for the values of all enums. Other languages ignore it.
macro_rules! openapi_generator {
    ($language:literal, $output:literal) => {
        concat!(
            "openapi-generator-cli generate --input-spec ../../../openapi.json \
             --additional-properties enumClassPrefix=true --generator-name ",
            $language,
            " --output ",
            $output
        )
    };
}

/// As seen from the directory of a tool, the contract is at `../../../openapi.json`. The variant
/// without references to responses is at `../inlined.json`.
pub const TOOLS: [Tool; 10] = [
    Tool {
        name: "redocly",
        package: (Npm, "@redocly/cli"),
        needs: &[],
        generate: "redocly lint ../../../openapi.json --extends recommended --format stylish",
        client: LINTER,
    },
    Tool {
        name: "spectral",
        package: (Npm, "@stoplight/spectral-cli"),
        needs: &[],
        generate: "spectral lint ../../../openapi.json --ruleset ruleset.json",
        client: LINTER,
    },
    Tool {
        name: "openapi-typescript",
        package: (Npm, "openapi-typescript"),
        needs: &[],
        // By default, fields with a default value are required, also in requests.
        generate: "openapi-typescript ../../../openapi.json --output generated/schema.d.ts \
                   --default-non-nullable false",
        client: TYPESCRIPT,
    },
    Tool {
        name: "hey-api",
        package: (Npm, "@hey-api/openapi-ts"),
        needs: &[],
        generate: "openapi-ts --no-log-file -i ../../../openapi.json -o generated",
        client: TYPESCRIPT,
    },
    Tool {
        name: "swagger-typescript-api",
        package: (Npm, "swagger-typescript-api"),
        needs: &[],
        // Its client discards the body of a response that is a reference.
        generate: "swagger-typescript-api generate --path ../inlined.json --output generated \
                   --name Api.ts",
        client: TYPESCRIPT,
    },
    Tool {
        name: "openapi-python-client",
        package: (PyPi, "openapi-python-client"),
        needs: &[],
        generate: "openapi-python-client generate --path ../../../openapi.json \
                   --output-path generated",
        client: PYTHON,
    },
    Tool {
        name: "openapi-generator-python",
        package: (PyPi, "openapi-generator-cli"),
        needs: &["java"],
        generate: openapi_generator!("python", "generated"),
        client: PYTHON,
    },
    Tool {
        name: "openapi-generator-typescript",
        package: (PyPi, "openapi-generator-cli"),
        needs: &["java", "tsc"],
        generate: openapi_generator!("typescript-fetch", "generated"),
        client: TYPESCRIPT,
    },
    Tool {
        name: "openapi-generator-go",
        package: (PyPi, "openapi-generator-cli"),
        needs: &["java", "go", GO_VALIDATOR],
        generate: openapi_generator!("go", "src/openapi"),
        client: Some(Client { build: "go build -o driver driver", run: "./driver" }),
    },
    Tool {
        name: "openapi-generator-rust",
        package: (PyPi, "openapi-generator-cli"),
        needs: &["java"],
        generate: openapi_generator!("rust", "generated"),
        client: Some(Client { build: "cargo build --quiet", run: "../cargo/debug/driver" }),
    },
];

/// Generators that cannot be installed from npm or PyPI, and why they are not run.
pub const NOT_INSTALLABLE: [(&str, &str); 1] =
    [("oapi-codegen", "it is a Go module without a Debian package; Go modules are not downloaded")];

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;
    use crate::{
        generators::{FOLDER, environment::Environment},
        repository,
    };

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

    #[test]
    fn without_npm_and_python_no_tool_is_installed() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let nothing = Environment::with(root, FOLDER, "/dev/null/folder".into(), "".as_ref());
        let reasons = TOOLS.each_ref().map(|tool| nothing.version_of(tool.package).unwrap_err());
        assert_eq!(reasons[0], "npm is missing; install Node.js 20.19 or later");
        assert_eq!(reasons[9], "python3 is missing; install Python 3.11 or later");
    }

    #[test]
    fn each_tool_has_an_exact_version() {
        for Tool { package: (registry, package), .. } in &TOOLS {
            let (_, list, ..) = registry.parts();
            let list = repository::read(&format!("xtask/{FOLDER}/{list}")).unwrap();
            let version = registry.version(&list, package);
            assert!(version.is_some_and(|it| semver::Version::parse(&it).is_ok()), "{package}");
        }
    }
}
