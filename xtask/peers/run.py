"""Compares how long programs with different clients take for 72 pictures, 24 at once, from their
start to the last saved file: python3 xtask/peers/run.py [PEER...]

The packages are installed below `target/peers`. A folder beside this file has the program of a
client, which saves PICTURES pictures in `pictures/`, AT_ONCE at once. All settings of the clients
are their defaults. Prints a table for each duration of tasks, on a quiet machine.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
from environment import ROOT, Environment, Failed, Simulator

PICTURES, AT_ONCE = 72, 24
# The seconds of a task, each also with durations that vary by 10 %.
DURATIONS, SPREADS = [1.63, 4.21, 9.37], [0, 0.1]

# Writes the wall time, the two CPU times and the peak memory of a command and its children. A
# process inherits the peak of its parent, and GNU time needs less memory than any client.
TIME = "time --format %e,%U,%S,%M --output usage"
KILN = ROOT / "target/release/kiln"
SIZE = "--model gen-dev --width 256 --height 256"
BATCH = (f"kiln batch run --prompt fox --seed 1..{PICTURES} --max-active {AT_ONCE} {SIZE} "
         "--output pictures")
GENERATE = ("openapi-generator-cli generate --input-spec ../inlined.json --generator-name python "
            "--additional-properties enumClassPrefix=true --output generated")
SDK = ["cargo build --release --quiet"]

# The name, the package unless it is of this repository, the folder of its program, the commands
# that build it, and the one that is measured.
PEERS = [
    ("blackforest", "blackforest", "blackforest", [], "python driver.py"),
    ("ai-sdk", "@ai-sdk/black-forest-labs", "ai-sdk", [], "node driver.mjs"),
    ("litellm", "litellm", "litellm", [], "python driver.py"),
    ("httpx", "httpx", "httpx", [], "python driver.py"),
    ("openapi-generator", "openapi-generator-cli", "openapi-generator",
     [GENERATE, "python -m compileall -q generated"], "python driver.py"),
    ("sdk", None, "sdk", SDK, "../cargo/release/sdk"),
    ("kiln-generate", None, "kiln-generate", [],
     f"kiln generate fox {SIZE} --count {PICTURES} --output pictures/"),
    ("kiln-batch", None, "kiln-batch", [], BATCH),
    ("sdk-webhooks", None, "sdk", SDK, "../cargo/release/sdk webhooks"),
    ("kiln-batch-webhooks", None, "kiln-batch-webhooks", [], f"{BATCH} --listen 127.0.0.1:0"),
]

HEAD = """\
| client | wall (s) | wall / ideal | requests a picture | lateness mean | lateness p99 | CPU (s) | \
memory (MiB) |
|---|---|---|---|---|---|---|---|"""
REQUESTS = r"^imagekiln_simulator_(?:submissions|polls|deliveries|rejections)_total\S* (\S+)$"


def simulator(*options):
    # Published clients know the models of a service with this prefix. With a seed, a run can be
    # repeated.
    return Simulator("--model-prefix", "flux", "--seed", "1", *options, kiln=str(KILN))


def measure(environment, directory, run, duration, spread):
    """Returns the cells of a row."""
    for name in ["pictures", "state"]:
        shutil.rmtree(directory / name, ignore_errors=True)
        (directory / name).mkdir()
    # `kiln generate` has no flag for it.
    (directory / "state/config.toml").write_text(f"max_active = {AT_ONCE}\n")
    # No settings of the user, and no history of earlier runs.
    state = ["HOME", "KILN_CONFIG_DIR", "KILN_STATE_DIR"]
    variables = {
        "PICTURES": str(PICTURES),
        "AT_ONCE": str(AT_ONCE),
        "IMAGEKILN_WEBHOOK_SECRET": "a secret of the benchmark",
        **{name: str(directory / "state") for name in state},
    }
    # Each has a simulator of its own, so that all get tasks with the same durations.
    options = ["--ready-after", str(duration), "--ready-after-spread", str(spread)]
    with simulator(*options) as running:
        environment.run(directory, f"{TIME} {run}", variables | running.variables())
        metrics, state = running.get("/metrics"), json.loads(running.get("/api/state"))
    saved = [path for path in directory.glob("pictures/*.jpg") if path.stat().st_size]
    if len(saved) != PICTURES:
        raise Failed(f"it saved {len(saved)} pictures, not {PICTURES}")
    wall, user, system, memory = map(float, (directory / "usage").read_text().split(","))
    requests = sum(map(float, re.findall(REQUESTS, metrics, re.MULTILINE)))
    late = state["lateness"]["fetched"]
    lateness = ["" if late[name] is None else f"{late[name]:.2f} s" for name in ["mean", "p99"]]
    # The ideal is that each place makes its share of the pictures without a pause. It can't be
    # reached if the durations vary.
    ideal = PICTURES / AT_ONCE * duration
    return [f"{wall:.2f}", f"{wall / ideal:.2f}", f"{requests / PICTURES:.1f}", *lateness,
            f"{user + system:.2f}", f"{memory / 1024:.0f}"]


def main():
    names = sys.argv[1:]
    unknown = set(names) - {name for name, *_ in PEERS}
    if unknown:
        sys.exit(f"unknown: {', '.join(unknown)}")
    environment = Environment("peers", [KILN.parent])
    # Built first, so that no compiler runs during a measurement.
    subprocess.run(["cargo", "build", "--release", "--package", "imagekiln-cli", "--target-dir",
                    "target"], cwd=ROOT, env=environment.variables(ROOT)
                   | {"CARGO_TARGET_DIR": "target"}, check=True)
    with simulator() as running:
        (environment.folder / "inlined.json").write_text(running.inlined_contract())
    peers = []
    for name, package, folder, builds, run in PEERS:
        if names and name not in names:
            continue
        version = environment.version(package) if package else ""
        needs = ["time", "java"] if name == "openapi-generator" else ["time"]
        reason = environment.missing(needs) or (version is None and "it is not installed")
        if reason:
            print(f"{name}: not run: {reason}")
            continue
        directory = environment.prepare(folder)
        for build in builds:
            environment.run(directory, build)
        peers.append((f"{name} {version}".strip(), directory, run))
    is_success = True
    for duration in DURATIONS:
        for spread in SPREADS:
            print(f"\n{duration} s, varied by {100 * spread:.0f} %\n\n{HEAD}")
            for label, directory, run in peers:
                try:
                    cells = measure(environment, directory, run, duration, spread)
                except Failed as error:
                    is_success, cells = False, ["failed"]
                    print(f"{label}: {error}", file=sys.stderr)
                print(f"| {label} | {' | '.join(cells)} |", flush=True)
    sys.exit(not is_success)


main()
