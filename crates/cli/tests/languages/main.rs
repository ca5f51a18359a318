//! The set-ups of `docs/testing.md`, each run by the test runner of its language, with the helpers
//! of `packaging` and this `kiln`, the program of `docs/engines.md`, and clients of `kiln mcp`.

mod mcp;

use std::{
    env, fs,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use tempfile::TempDir;

use imagekiln_testbed::{Requirement, Runtime, run, test, test_of};

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

/// A language without a package: its folder in `examples/testing`, and what runs the test there.
struct Language {
    folder: &'static str,
    script: &'static str,
    passed: &'static str,
    needs: [Requirement; 1],
}

const fn needs(
    name: &'static str,
    is_present: fn() -> bool,
    advice: &'static str,
) -> [Requirement; 1] {
    [Requirement { name, is_present, advice, variable: "IMAGEKILN_LANGUAGE_TESTS" }]
}

const JUNIT: &str = "/usr/share/java/junit4.jar";

static LANGUAGES: [Language; 5] = [
    Language {
        folder: "go",
        script: "go test -v -count=1 ./...",
        passed: "PASS: TestAFailedPollIsRepeated",
        needs: needs("Go", || answers("go", "version"), "apt-get install golang-go"),
    },
    Language {
        folder: "ruby",
        script: "ruby client_test.rb",
        passed: "1 runs, 3 assertions, 0 failures, 0 errors",
        needs: needs("Ruby", || answers("ruby", "--version"), "apt-get install ruby ruby-minitest"),
    },
    Language {
        folder: "php",
        script: "phpunit --do-not-cache-result ClientTest.php",
        passed: "OK (1 test, 3 assertions)",
        needs: needs("PHPUnit", || answers("phpunit", "--version"), "apt-get install phpunit"),
    },
    Language {
        folder: "java",
        script: "export CLASSPATH=.:/usr/share/java/junit4.jar:/usr/share/java/hamcrest-core.jar
            javac *.java
            java org.junit.runner.JUnitCore ClientTest",
        passed: "OK (1 test)",
        needs: needs(
            "JUnit",
            || answers("javac", "--version") && Path::new(JUNIT).is_file(),
            "apt-get install default-jdk-headless junit4",
        ),
    },
    Language {
        folder: "csharp",
        script: "mcs -r:System.Net.Http.dll -r:System.Runtime.Serialization.dll \
                -r:System.Xml.Linq.dll -r:System.Xml.dll ClientTest.cs
            mono ClientTest.exe",
        passed: "passed",
        needs: needs(
            "Mono",
            || answers("mcs", "--version"),
            "apt-get install mono-mcs libmono-system-net-http4.0-cil \
             libmono-system-runtime-serialization4.0-cil libmono-system-xml-linq4.0-cil",
        ),
    },
];

fn main() {
    let runtime = Runtime::CurrentThread;
    let languages = LANGUAGES.iter().map(|language| {
        let name = format!("{}_starts_and_resets_it", language.folder);
        test(name, &language.needs, runtime, || starts_and_resets_it(language))
    });
    let tests = vec![
        test_of(&[PYTEST], runtime, pytest_starts_and_resets_it),
        test_of(&[JEST], runtime, jest_starts_and_resets_it),
        test_of(&[JEST], runtime, npm_launcher_passes_on_sigterm_but_not_ctrl_c),
        test_of(&[PYTEST], runtime, celery_drives_a_ledger_by_calls),
        test_of(&[PYTEST], runtime, python_explains_and_leaves_nothing_running),
        test_of(&[JEST], runtime, node_explains_and_leaves_nothing_running),
        test_of(&[mcp::PYTHON], runtime, mcp::python_drives_the_tools),
        test_of(&[mcp::NODE], runtime, mcp::typescript_drives_the_tools),
        test_of(&[mcp::NODE], runtime, mcp::the_protocol_is_kept),
    ];
    run(tests.into_iter().chain(languages).collect());
}

fn answers(program: &str, question: &str) -> bool {
    Command::new(program).arg(question).output().is_ok_and(|output| output.status.success())
}

async fn pytest_starts_and_resets_it() {
    let copy = copy_of("pytest");
    // What installing the wheel does.
    let mut pytest = Command::new("pytest-3");
    pytest.args(["-p", "no:cacheprovider", "-p", "imagekiln_cli.pytest_plugin"]);
    pytest
        .env("PYTHONPATH", root().join("crates/cli/packaging/python"))
        .env("PYTHONDONTWRITEBYTECODE", "1");
    passes(&copy, pytest, "2 passed");
}

async fn jest_starts_and_resets_it() {
    let copy = copy_of("jest");
    install_npm(&copy, Path::new(env!("CARGO_BIN_EXE_kiln")));
    passes(&copy, Command::new("jest"), "2 passed");
}

async fn npm_launcher_passes_on_sigterm_but_not_ctrl_c() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    let script = "#!/bin/sh\ntrap 'echo $1 int' INT\ntrap 'echo $1 term; exit 7' TERM\n\
                  echo ready\nwhile :; do sleep 0.1; done\n";
    fs::write(&program, script).unwrap();
    assert!(Command::new("chmod").arg("+x").arg(&program).status().unwrap().success());
    let launcher = install_npm(&folder, &program).join("kiln.js");
    // A background job of a shell ignores SIGINT.
    let mut node = Command::new("env");
    node.args(["--default-signal=INT", "node"]).arg(launcher).arg("argument");
    node.stdout(Stdio::piped());
    let mut node = node.spawn().unwrap();
    let mut output = BufReader::new(node.stdout.take().unwrap());
    let mut ready = String::new();
    output.read_line(&mut ready).unwrap();
    // A terminal sends Ctrl-C to the program itself, for which a second one has another meaning.
    for signal in ["-INT", "-TERM"] {
        let id = node.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert_eq!((ready + &rest).as_str(), "ready\nargument term\n");
    assert_eq!(node.wait().unwrap().code(), Some(7));
}

async fn starts_and_resets_it(language: &Language) {
    let mut shell = Command::new("sh");
    shell.args(["-ec", language.script]);
    passes(&copy_of(language.folder), shell, language.passed);
}

const PYTHON_EXPLAINS: &str = r#"
import os, signal
from imagekiln_cli import Simulator

simulator = Simulator()
for call in [
    lambda: simulator.add_fault("html-999"),
    lambda: simulator.verify(1, operation="gen-2-pro"),
]:
    try:
        call()
    except (RuntimeError, AssertionError) as error:
        print(error, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"#;

const NODE_EXPLAINS: &str = r#"
const { start, addFault, verify } = require("imagekiln-cli/simulator");

start().then(async () => {
  for (const call of [() => addFault("html-999"), () => verify(1, { operation: "gen-2-pro" })]) {
    await call().catch((error) => require("node:fs").writeSync(1, `${error.message}\n`));
  }
  process.kill(process.pid, "SIGKILL");
});
"#;

async fn python_explains_and_leaves_nothing_running() {
    let mut python = Command::new("python3");
    // It is not asked for what is on this machine.
    python.args(["-c", PYTHON_EXPLAINS]).env("HTTP_PROXY", "http://127.0.0.1:1");
    python.env("PYTHONPATH", root().join("crates/cli/packaging/python"));
    explains_and_leaves_nothing_running(&tempfile::tempdir().unwrap(), python);
}

async fn node_explains_and_leaves_nothing_running() {
    let folder = tempfile::tempdir().unwrap();
    install_npm(&folder, Path::new(env!("CARGO_BIN_EXE_kiln")));
    let mut node = Command::new("node");
    node.args(["-e", NODE_EXPLAINS]);
    explains_and_leaves_nothing_running(&folder, node);
}

/// Errors say what the simulator said. A killed process takes its simulator along: that would keep
/// standard error open, and this function would not return.
fn explains_and_leaves_nothing_running(folder: &TempDir, program: Command) {
    let (output, text) = run_in(folder, program);
    let expected = ["/api/faults: 422", "unknown fault", "expected 1 request, but there were 0"];
    assert!(!output.status.success() && expected.iter().all(|part| text.contains(part)), "{text}");
}

/// What the program of the page uses of Celery. Each name is delivered twice.
const CELERY: &str = r#"
class Retry(Exception):
    pass

class Task:
    def __init__(self, run):
        self.run = run

    def retry(self, countdown):
        print("retry in", countdown)
        return Retry()

    def delay(self, name):
        for _ in range(2):
            while True:
                try:
                    print(self.run(self, name))
                    break
                except Retry:
                    pass

class Celery:
    def __init__(self, *_, **__):
        self.conf = {}

    def task(self, **_):
        return Task
"#;

async fn celery_drives_a_ledger_by_calls() {
    let folder = tempfile::tempdir().unwrap();
    let page = fs::read_to_string(root().join("docs/engines.md")).unwrap();
    let (_, program) = page.split_once("```python\n").unwrap();
    let (program, _) = program.split_once("```\n").unwrap();
    // Ends the first call before the task is final.
    let program = program.replace("\"60\"", "\"0.5\"");
    for (name, text) in
        [("pictures.py", &*program), ("celery.py", CELERY), ("jobs.csv", "prompt\na fox\n")]
    {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let mut python = Command::new("kiln");
    python.args(["simulate", "--", "python3", "pictures.py"]).env("KILN_STATE_DIR", folder.path());
    passes(&folder, python, "retry in 10\nsaved\nsaved\n");
}

/// The file of a program in the path.
#[expect(clippy::disallowed_methods, reason = "the test has no `Process`")]
fn program_in_path(name: &str) -> PathBuf {
    let path = env::var_os("PATH").unwrap();
    env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.exists()).unwrap()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn copy_of(folder: &str) -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    copy_files(&root().join("examples/testing").join(folder), copy.path());
    copy
}

fn copy_files(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

/// Puts into a folder what installing the two npm packages does, and returns that of the launcher.
fn install_npm(folder: &TempDir, program: &Path) -> PathBuf {
    let node = Command::new("node").args(["-p", "process.platform + '-' + process.arch"]).output();
    let platform = String::from_utf8(node.unwrap().stdout).unwrap();
    let modules = folder.path().join("node_modules");
    let of_platform = modules.join(format!("imagekiln-cli-{}", platform.trim()));
    fs::create_dir_all(&of_platform).unwrap();
    fs::copy(program, of_platform.join("kiln")).unwrap();
    let launcher = modules.join("imagekiln-cli");
    copy_files(&root().join("crates/cli/packaging/npm"), &launcher);
    launcher
}

fn passes(folder: &TempDir, runner: Command, expected: &str) {
    let (output, text) = run_in(folder, runner);
    assert!(output.status.success() && text.contains(expected), "{}: {text}", output.status);
}

/// Runs a program in the folder, with this `kiln` in the path, and returns what it printed, too.
#[expect(clippy::disallowed_methods, reason = "the test has no `Process`")]
fn run_in(folder: &TempDir, mut runner: Command) -> (Output, String) {
    let kiln = Path::new(env!("CARGO_BIN_EXE_kiln")).parent().unwrap().to_owned();
    let path = env::var_os("PATH").unwrap();
    let path = env::join_paths([kiln].into_iter().chain(env::split_paths(&path))).unwrap();
    runner.current_dir(folder.path()).env("PATH", path).env("KILN_CONFIG_DIR", folder.path());
    let output = runner.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let printed = text(&output.stdout) + &text(&output.stderr);
    (output, printed)
}
