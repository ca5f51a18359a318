//! The set-ups of `examples/testing`, each run by the test runner of its language.

use std::{env, fs, path::Path, process::Command};

use imagekiln_testbed::{Requirement, Runtime, name_of, run, test};

const PYTEST: Requirement = Requirement {
    name: "pytest",
    is_present: || answers("pytest-3", "--version"),
    advice: "apt-get install python3-pytest",
    variable: "IMAGEKILN_PYTEST_TESTS",
};

const JEST: Requirement = Requirement {
    name: "Jest",
    is_present: || answers("jest", "--version"),
    advice: "npm install --global jest",
    variable: "IMAGEKILN_JEST_TESTS",
};

const GO: Requirement = Requirement {
    name: "Go",
    is_present: || answers("go", "version"),
    advice: "apt-get install golang-go",
    variable: "IMAGEKILN_GO_TESTS",
};

fn main() {
    let runtime = Runtime::CurrentThread;
    run(vec![
        test(
            name_of(&pytest_starts_and_resets_it),
            &[PYTEST],
            runtime,
            pytest_starts_and_resets_it,
        ),
        test(name_of(&jest_starts_and_resets_it), &[JEST], runtime, jest_starts_and_resets_it),
        test(name_of(&go_starts_and_resets_it), &[GO], runtime, go_starts_and_resets_it),
    ]);
}

fn answers(program: &str, question: &str) -> bool {
    Command::new(program).arg(question).output().is_ok_and(|output| output.status.success())
}

async fn pytest_starts_and_resets_it() {
    passes("pytest", "pytest-3", &["-p", "no:cacheprovider"], "2 passed");
}

async fn jest_starts_and_resets_it() {
    passes("jest", "jest", &[], "2 passed");
}

async fn go_starts_and_resets_it() {
    passes("go", "go", &["test", "-v", "-count=1", "./..."], "PASS: TestAFailedPollIsRepeated");
}

/// Runs the tests of a copy of the folder, with this `kiln` in the path.
#[expect(clippy::disallowed_methods, reason = "the test has no `Process`")]
fn passes(folder: &str, program: &str, arguments: &[&str], expected: &str) {
    let copy = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/testing").join(folder);
    for entry in fs::read_dir(source).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
        }
    }
    let kiln = Path::new(env!("CARGO_BIN_EXE_kiln")).parent().unwrap().to_owned();
    let path = env::var_os("PATH").unwrap();
    let path = env::join_paths([kiln].into_iter().chain(env::split_paths(&path))).unwrap();
    let output = Command::new(program)
        .args(arguments)
        .current_dir(copy.path())
        .env("PATH", path)
        .env("KILN_CONFIG_DIR", copy.path())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    let has_passed = output.status.success() && (stdout + &stderr).contains(expected);
    assert!(has_passed, "{output:?}");
}
