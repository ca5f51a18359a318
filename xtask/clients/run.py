"""Runs published clients of the service, and a tester of HTTP interfaces, against the simulator
with its default settings: python3 xtask/clients/run.py [CLIENT...]

They are installed and run below `target/clients`. A folder beside this file has a program for each,
which prints a line for each case: `ok NAME` or `failed NAME: REASON`.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
from environment import Environment, Failed, Simulator

# The name, the package, and the command that runs its program.
CLIENTS = [
    ("blackforest", "blackforest", "python driver.py"),
    ("litellm", "litellm", "python driver.py"),
    ("ai-sdk", "@ai-sdk/black-forest-labs", "node driver.mjs"),
    ("memberjunction", "@memberjunction/ai-blackforestlabs", "node driver.mjs"),
    ("schemathesis", "schemathesis", "python driver.py"),
]

NO_MODEL = "the contract does not have this model"
UNKNOWN_STATUS = "the client does not know this status, and continues to poll"
OPEN = "the contract leaves the field open, so the simulator had to decide"
WORDS = "the contract says so in words, which the tester does not read"

# For each client, a part of the line of each known finding, and why it is not a defect of the
# simulator.
EXPECTED = {
    "blackforest": {
        "failed pro: API request failed: 404": NO_MODEL,
        "failed usage: ": "the contract has no operation that counts licensed use",
        "failed status Error: Error getting synchronous result": UNKNOWN_STATUS,
        "failed status Request Moderated: ": UNKNOWN_STATUS,
        "failed status Content Moderated: ": UNKNOWN_STATUS,
    },
    "litellm": {
        "failed another host: ": "it polls only hosts of the provider; in the other cases, its "
                                 "program removes this check",
        "failed pro: ": NO_MODEL,
        "failed kontext-max: ": NO_MODEL,
        "failed edit kontext-max: ": NO_MODEL,
    },
    "ai-sdk": {
        "failed kontext-max: AI_APICallError: Not Found": NO_MODEL,
        "failed draft and its enhancement: Error: the draft has no draft_cache":
            "the contract does not show the result of a draft",
        "failed download of a video: AI_DownloadError: ":
            "it downloads videos only from public addresses; in the other cases, its program does",
        "failed status Request Moderated: Error: Error: ": UNKNOWN_STATUS,
        "failed status Content Moderated: Error: AI_APICallError: Invalid JSON response":
            "the client does not know this status, and fails without saying which one it is",
    },
    "memberjunction": {"BFL API error (404): ": NO_MODEL},
    "schemathesis": {
        ": Value error, the data is not a jpeg, png or webp image (": WORDS,
        ": Value error, the image is not valid base64 (": WORDS,
        ": Value error, an aspect ratio consists of two positive integers": WORDS,
        ": Input should be less than or equal to 8192 (":
            "the contract has no maximum, and the simulator has one for what it renders",
        "POST /v1/flux-tools/outpainting-v1 body.": OPEN,
        "POST /v1/flux-3-video body": OPEN,
        "response 404 (1: POST /v1/{base_model}-finetuned)":
            "a name that does not match the parameter's pattern is the path of no operation",
    },
}


def report(environment, name, command):
    """Runs a client. Returns its line of the report, and what is new or no longer found."""
    # Each has a simulator of its own, so that its findings don't depend on the others. The clients
    # know the models of a service with another prefix, and with a seed, a run can be repeated.
    with Simulator("--model-prefix", "flux", "--seed", "1") as simulator:
        directory = environment.prepare(name)
        printed = environment.run(directory, command, simulator.variables())
    lines = printed.splitlines()
    passed = sum(line.startswith("ok ") for line in lines)
    failed = [line for line in lines if line.startswith("failed ")]
    if not passed:
        raise Failed(f"no case passed; its program printed:\n{printed}")
    expected = EXPECTED[name]
    new = [line for line in failed if not any(part in line for part in expected)]
    gone = [part for part in expected if not any(part in line for line in failed)]
    known = len(failed) - len(new)
    problems = new + [f"no longer found: {part}" for part in gone]
    return f"{passed} passed; findings: {known} known, {len(new)} new", problems


def main():
    names = sys.argv[1:]
    unknown = set(names) - EXPECTED.keys()
    if unknown:
        sys.exit(f"unknown: {', '.join(unknown)}")
    environment = Environment("clients")
    ran, failed = 0, 0
    for name, package, command in CLIENTS:
        version = environment.version(package)
        if names and name not in names:
            continue
        if version is None:
            print(f"{name}: not run: {package} is not installed")
            failed += name in names
            continue
        ran += 1
        try:
            line, problems = report(environment, name, command)
        except Failed as error:
            line, problems = f"failed: {error}", [""]
        print(f"{name} {version}: {line}", *problems, sep="\n  ", flush=True)
        failed += bool(problems)
    sys.exit(failed > 0 or ran == 0)


main()
