"""Installs programs of other projects below `target`, and runs them beside a simulator."""

import json
import os
import re
import shutil
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# The program of the simulator.
KILN = os.environ.get("KILN", "cargo run -q -p imagekiln-cli --bin kiln --")

# Debian's sources of Go packages, which need no download, and the one that a Go client needs.
DEBIAN_GO = "/usr/share/gocode"
GO_VALIDATOR = f"{DEBIAN_GO}/src/gopkg.in/validator.v2"

# Debian's HTTP libraries, which the clients in Ruby and PHP need. The path of the Ruby library has
# its version, so the list of the package's files stands for it.
RUBY_TYPHOEUS = "/var/lib/dpkg/info/ruby-typhoeus.list"
PHP_GUZZLE = "/usr/share/php/GuzzleHttp/autoload.php"

# Programs and files that are not in the registries, and how to get them.
REQUIREMENTS = {
    "npm": "install Node.js 20.19 or later",
    "python3": "install Python 3.11 or later",
    "java": "install Java 11 or later",
    "go": "install Go (in Debian: golang-go)",
    "time": "install GNU time (in Debian: time)",
    "ruby": "install Ruby 2.7 or later",
    "php": "install PHP 8.1 or later (in Debian: php-cli)",
    GO_VALIDATOR: "install the Debian package golang-gopkg-validator.v2-dev",
    RUBY_TYPHOEUS: "install the Debian package ruby-typhoeus",
    PHP_GUZZLE: "install the Debian package php-guzzlehttp-guzzle",
}

# A lock file would contain the address of the registry.
REGISTRIES = {
    "npm": ("package.json", "node_modules", [
        "npm install --no-package-lock --ignore-scripts --no-audit --no-fund",
    ]),
    "python3": ("requirements.txt", "python", [
        "python3 -m venv python",
        "python -m pip install --requirement requirements.txt",
    ]),
}


# A command that takes longer, in seconds, hangs.
LONGEST = 1200


class Failed(Exception):
    """A command failed, or its result is wrong."""


class Environment:
    """The folder `target/NAME`, with the packages that the lists in `xtask/NAME` name."""

    def __init__(self, name, programs=()):
        self.committed, self.folder = ROOT / "xtask" / name, ROOT / "target" / name
        self.folder.mkdir(parents=True, exist_ok=True)
        own = [self.folder / "node_modules/.bin", self.folder / "python/bin", *programs]
        self.path = os.pathsep.join([*map(str, own), os.environ["PATH"]])
        self.versions = {}
        for program, registry in REGISTRIES.items():
            if (self.committed / registry[0]).exists() and not self.missing([program]):
                self.install(*registry)

    def install(self, name, directory, commands):
        """Installs the packages of a list, unless this list was installed before."""
        packages = (self.committed / name).read_text()
        stamp = self.folder / directory / "installed"
        if not stamp.exists() or stamp.read_text() != packages:
            shutil.rmtree(self.folder / directory, ignore_errors=True)
            (self.folder / name).write_text(packages)
            for command in commands:
                self.run(self.folder, command)
            # Written last, because an interrupted installation is repeated.
            stamp.write_text(packages)
        if name.endswith(".json"):
            self.versions |= json.loads(packages)["dependencies"]
        self.versions |= dict(re.findall(r"^(\S+)==(\S+)$", packages, re.MULTILINE))

    def missing(self, needs):
        """Says what to install if a program or file is missing."""
        for need in needs:
            # Joined to a folder, an absolute path stays as it is.
            if not any(Path(folder, need).exists() for folder in self.path.split(os.pathsep)):
                return f"{need} is missing; {REQUIREMENTS[need]}"
        return None

    def version(self, package):
        """Returns the version of a package, or None if it is not installed."""
        return self.versions.get(package)

    def prepare(self, tool):
        """Replaces the directory of a tool with one that has its committed files."""
        directory = self.folder / tool
        shutil.rmtree(directory, ignore_errors=True)
        if (self.committed / tool).is_dir():
            shutil.copytree(self.committed / tool, directory)
        directory.mkdir(exist_ok=True)
        if (directory / "Cargo.toml").exists():
            # The client is built with the versions of this repository.
            shutil.copy(ROOT / "Cargo.lock", directory)
        return directory

    def variables(self, directory):
        others = {
            "PATH": self.path,
            "CARGO_TARGET_DIR": str(self.folder / "cargo"),
            "CI": "true",
            "GO111MODULE": "off",
            "GOCACHE": str(self.folder / "go-cache"),
            "GOFLAGS": "",
            "GOPATH": f"{directory}:{DEBIAN_GO}",
            "NO_COLOR": "1",
            "PYTHONPATH": "generated",
            "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true",
            "REDOCLY_TELEMETRY": "off",
        }
        # A wrapper may be a linter, whose rules are not those of generated code.
        inherited = {name: value for name, value in os.environ.items()
                     if name != "RUSTC_WORKSPACE_WRAPPER" and not name.endswith("_RUNNER")}
        return inherited | others

    def run(self, directory, line, variables=(), output=None):
        """Runs words without spaces, and returns what they printed, which a file can keep."""
        try:
            done = subprocess.run(line.split(), cwd=directory, text=True, timeout=LONGEST,
                                  env=self.variables(directory) | dict(variables),
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Failed(f"`{line}` failed: {error}") from error
        both = f"{done.stdout}\n{done.stderr}"
        if output:
            (directory / output).write_text(both)
        if done.returncode:
            last = [text for text in both.splitlines() if text.strip()][-20:]
            raise Failed(f"`{line}` failed ({done.returncode}):\n" + "\n".join(last))
        return done.stdout


def request(url, body=None, headers=()):
    """Returns the status code and the bytes of a response. A body is bytes of JSON."""
    headers = {"content-type": "application/json"} | dict(headers)
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=60) as got:
            return got.status, got.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


class Simulator:
    """A simulator on free ports, which runs until the end of a `with` block."""

    def __init__(self, *options, kiln=KILN):
        command = f"{kiln} simulate --json --port 0 --stop-with-stdin".split() + list(options)
        self.process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise Failed("the simulator did not start; its error is above")
        self.settings = json.loads(line)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def variables(self):
        """Tells a client where the simulator is."""
        names = ["base_url", "control_url", "api_key", "model_prefix"]
        return {f"IMAGEKILN_{name.upper()}": self.settings[name] for name in names}

    def get(self, path):
        with urllib.request.urlopen(self.settings["control_url"] + path, timeout=60) as response:
            return response.read().decode()

    def post(self, path, body):
        request = urllib.request.Request(self.settings["control_url"] + path, method="POST",
                                         data=json.dumps(body).encode(),
                                         headers={"content-type": "application/json"})
        urllib.request.urlopen(request, timeout=60).close()

    def inlined_contract(self):
        """Returns the contract without references to responses."""
        return self.get("/api/openapi.json?responses=inline")
