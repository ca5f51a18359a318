"""Installs the packages of target/dist in new folders, with the commands of docs/testing.md,
docs/install.md and the guide for Rust, and runs the tests of these pages: python3 crates/cli/packaging/try.py
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
DIST = ROOT / "target/dist"
VERSION = "kiln " + re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.M)[1]
TESTING, INSTALL, RUST = "docs/testing.md", "docs/install.md", "src/guide/testing.md"

# The longest time from the first command to the end of the tests, without compiling, in seconds.
LIMIT = 120

# A page and its section, what a person who follows it has already, and a part of the output.
SECTIONS = [
    (TESTING, "pytest", ["pytest/client.py"], "2 passed"),
    (TESTING, "Jest", ["jest/client.js"], "2 passed"),
    (TESTING, "Vitest", ["jest/client.js", "jest/client.test.js"], "2 passed"),
    (TESTING, "Go", ["go/client.go", "go/client_test.go", "go/go.mod"],
     "ok  \timagekiln.example/testing"),
    (RUST, "Test your own program", [], "test a_fox_is_paid_for_once ... ok"),
    *[(INSTALL, name, [], VERSION) for name in ["pip", "pipx", "uv", "npm", "Archive"]],
]

# Unpacks the image, and runs the program without any other file.
IMAGE = """\
skopeo copy --quiet oci-archive:$(echo "$DIST"/kiln-*.oci.tar) oci:image:kiln
umoci unpack --rootless --image image:kiln bundle
grep --quiet '"/kiln",' bundle/config.json
unshare --map-root-user chroot bundle/rootfs /kiln simulate -- /kiln --version"""


def section(page, title):
    """Returns the text from a heading to the next one."""
    parts = re.split(r"^#+ (.*)\n", (ROOT / page).read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))[title]


def files(text):
    """Returns the files that a section shows, each below a line that is its name."""
    return re.findall(r"^`([^`\n]+)`:\n\n```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def commands(text):
    """Returns the commands of a section. What a command prints is not shown with `$`."""
    sessions = re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return "".join(re.findall(r"^\$ ((?:.*\\\n)*.*\n)", "".join(sessions), re.MULTILINE))


def follow(script, home, project, expected):
    """Runs commands, and returns how many seconds they took. They must print a text."""
    own = [f"{home}/venv/bin", f"{home}/.local/bin"]
    others = os.environ["PATH"].split(":")
    others = [folder for folder in others if not Path(folder, "kiln").exists()]
    # Settings of .ci/run are not those of a person.
    variables = {name: value for name, value in os.environ.items()
                 if name != "RUSTC_WORKSPACE_WRAPPER" and not name.endswith("_RUNNER")}
    variables |= {"DIST": str(DIST), "HOME": str(home), "PATH": ":".join(own + others),
                  "CI": "true", "NO_COLOR": "1"}
    # Cargo's folders are those of this machine, and the caches of the other managers are empty.
    for name, folder in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")]:
        variables.setdefault(name, str(Path.home() / folder))
    started = time.monotonic()
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=project, env=variables,
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    taken = time.monotonic() - started
    if done.returncode or expected not in done.stdout:
        raise RuntimeError(f"status {done.returncode}, expected {expected!r}\n{done.stdout}")
    return taken


def play(home, page, title, given, expected):
    """Follows a section in a new folder, and returns how long it took."""
    project = home / "project"
    project.mkdir()
    if page == RUST:
        clone = ["git", "clone", "--quiet", "--no-hardlinks", ROOT, home / "imagekiln"]
        subprocess.run(clone, check=True)
    for path in given:
        shutil.copy(ROOT / "examples/testing" / path, project)
    text = section(page, title)
    for name, content in files(text):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(content)
    # A new virtual environment, as if it was activated, with the tool that the section is about.
    subprocess.run([sys.executable, "-m", "venv", home / "venv"], check=True)
    if title in ["pipx", "uv"]:
        subprocess.run([home / "venv/bin/pip", "install", "--quiet", title], check=True)
    script = commands(text)
    if not script:
        raise RuntimeError("the section has no commands")
    build, mark, tests = script.rpartition("cargo test --no-run\n")
    built = f", after a build of {follow(build + mark, home, project, ''):.0f} s" if mark else ""
    taken = follow(tests, home, project, expected)
    if taken > LIMIT:
        raise RuntimeError(f"took {taken:.0f} s")
    return f"{taken:.1f} s{built}"


def main():
    is_success = True
    for page, title, given, expected in SECTIONS:
        with tempfile.TemporaryDirectory() as home:
            try:
                result = play(Path(home), page, title, given, expected)
            except (RuntimeError, subprocess.CalledProcessError) as error:
                is_success, result = False, f"failed: {error}"
        print(f"{page}, {title}: {result}", flush=True)
    with tempfile.TemporaryDirectory() as home:
        taken = follow(IMAGE, home, home, VERSION)
        print(f"the container image, unpacked and run: {taken:.1f} s")
    sys.exit(not is_success)


if __name__ == "__main__":
    main()
