//! `kiln mcp` and others' programs for its protocol: the official SDKs call every tool, and the
//! conformance suite of the protocol passes.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use imagekiln_testbed::Requirement;

use super::{answers, passes, program_in_path};

const VARIABLE: &str = "IMAGEKILN_MCP_TESTS";

pub const PYTHON: Requirement = Requirement {
    name: "the Python SDK of MCP",
    is_present: || {
        let python = Command::new("python3").args(["-c", "import mcp"]).output();
        python.is_ok_and(|output| output.status.success())
    },
    advice: "pip install mcp",
    variable: VARIABLE,
};

pub const NODE: Requirement = Requirement {
    name: "the conformance suite and the TypeScript SDK of MCP",
    is_present: || answers("conformance", "--version"),
    advice: "npm install --global @modelcontextprotocol/conformance @modelcontextprotocol/sdk",
    variable: VARIABLE,
};

/// A file beside this one.
fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/languages/mcp").join(name)
}

pub async fn python_drives_the_tools() {
    let mut python = Command::new("python3");
    python.arg(program("client.py"));
    passes(&tempfile::tempdir().unwrap(), python, "7 tools, 3 files, 9.0 credits");
}

pub async fn typescript_drives_the_tools() {
    let suite = fs::canonicalize(program_in_path("conformance")).unwrap();
    let modules = suite.ancestors().find(|path| path.ends_with("node_modules")).unwrap();
    let mut node = Command::new("node");
    node.arg(program("client.cjs")).env("NODE_PATH", modules);
    let done = "7 tools, 4 resources, 3 files, 9 credits, 2 questions";
    passes(&tempfile::tempdir().unwrap(), node, done);
}

/// All scenarios pass but those of the baseline, which do not apply, and these fail.
pub async fn the_protocol_is_kept() {
    let (folder, token) = (tempfile::tempdir().unwrap(), "a-token-of-this-test");
    let mut server = Command::new(env!("CARGO_BIN_EXE_kiln"));
    server.args(["mcp", "--simulate", "--listen", "127.0.0.1:0"]);
    server.current_dir(folder.path()).env("KILN_CONFIG_DIR", folder.path());
    server.env("KILN_MCP_TOKEN", token).stderr(Stdio::piped());
    let mut server = Server(server.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(server.0.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    let url = line.split(' ').nth(2).unwrap();
    let mut suite = Command::new("conformance");
    suite.args(["server", "--url", url, "--expected-failures"]).arg(program("conformance.yaml"));
    let hook = format!("--import {}", program("token.mjs").display());
    suite.env("NODE_OPTIONS", hook).env("KILN_MCP_TOKEN", token);
    passes(&folder, suite, "dns-rebinding-protection: 2 passed, 0 failed");
}

/// A test that fails leaves no process behind.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
