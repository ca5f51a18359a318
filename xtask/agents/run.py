"""Compares `kiln mcp` with other MCP servers for services like this one, beside the simulator, with
a model that repeats its calls: python3 xtask/agents/run.py [SERVER...]

The servers are installed below `target/agents`, from npm or from their repositories. Those without
a setting for the address of the service run with `shim.mjs`, and all others are the defaults. The
variable KILN names a `kiln` to use instead of a release build. Prints a table, and what the model
read to standard error.
"""

import json
import os
import queue
import re
import statistics
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
from environment import ROOT, Environment, Failed, Simulator

KILN = Path(os.environ.get("KILN", ROOT / "target/release/kiln")).resolve()
PROMPT = {"prompt": "a red fox in the snow"}
# The address that the servers have, and that the simulator states to those with the shim.
SERVICE = "https://api.bfl.ai"
# In seconds: when a client gives up, how long a task takes, when a delivery URL has expired.
TIMEOUT, SLOW, EXPIRED = 10, 30, 601
STARTS = 5
COUNT = "console.log(require('gpt-tokenizer').encode(require('fs').readFileSync(0, 'utf8')).length)"

NODE = ["npm ci --ignore-scripts --no-audit --no-fund", "npx tsc"]
# The repository and the commit of those that npm has not, and how to build them.
SOURCES = {
    "bfl-mcp-server": ("elhombrejd/bfl_mcp", "9f899b1a3bfa6477ff1b1bb8267de08377c2a350", NODE),
    "mcp-server-bfl": ("fernforestgames/mcp-server-bfl",
                       "93eec5f12c4e5ee6c57e5e9d37b9bb14802d886d", NODE),
    "bfl-flux-mcp": ("agentic-ai-forge/bfl-flux-mcp", "45a39d60b13b4d76cd7c026c4daf2f4eed9277c2",
                     []),
}


def found(pattern, tool, arguments):
    """The next call of a model that reads a result with this pattern."""
    def next_call(text):
        match = re.search(pattern, text)
        return match and (tool, {name: match.expand(value) for name, value in arguments.items()})
    return next_call


# For each server its command, the call that makes a picture, the next one that waits for it or
# saves it, and whether it needs the shim.
SERVERS = {
    "kiln mcp": (
        f"{KILN} mcp --budget 1000", ("make", PROMPT),
        found(r'"number":"(@\d+)".*"state":"in_progress"', "look", {"number": r"\1"}), False),
    "mcp-imagenate": (
        "node ../node_modules/mcp-imagenate/dist/index.js",
        ("generate_image", {**PROMPT, "model": "flux-2-pro"}), lambda _: None, True),
    "bfl-mcp-server": ("node ../bfl-mcp-server/dist/index.js", ("generate_image", PROMPT),
                       lambda _: None, True),
    "mcp-server-bfl": (
        "node ../mcp-server-bfl/dist/index.js",
        ("generate_image", {"params": {**PROMPT, "model": "flux-2-pro"}}),
        found(r"Request ID: (\S+)", "download_image",
              {"request_id": r"\1", "file_path": "fox.jpg"}), True),
    "bfl-flux-mcp": (
        "env PYTHONPATH=../bfl-flux-mcp/src python -m bfl_flux_mcp.server",
        ("generate_image", PROMPT),
        found(r"Image URL:\*\* (\S+)", "save_image", {"url": r"\1", "path": "fox.jpg"}), False),
}


class Session:
    """A client of a server, which it starts."""

    def __init__(self, command, directory, variables):
        self.process = subprocess.Popen(
            command.split(), cwd=directory, env=variables, text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.responses, self.last = queue.Queue(), 0
        threading.Thread(target=self.read, daemon=True).start()
        self.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                    "clientInfo": {"name": "xtask", "version": "1"}})
        self.send("notifications/initialized", {})

    def read(self):
        for line in self.process.stdout:
            # One server prints its log among the messages.
            if line.startswith("{") and "id" in (message := json.loads(line)):
                self.responses.put(message)

    def send(self, method, params, **more):
        message = {"jsonrpc": "2.0", "method": method, "params": params, **more}
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def request(self, method, params, timeout=120):
        """Returns the result, or cancels the request and returns None if it takes too long."""
        self.last += 1
        self.send(method, params, id=self.last)
        end = time.monotonic() + timeout
        try:
            while True:
                response = self.responses.get(timeout=max(0, end - time.monotonic()))
                if response["id"] == self.last:
                    return response["result"]
        except queue.Empty:
            self.send("notifications/cancelled", {"requestId": self.last})
            return None

    def call(self, tool, arguments, timeout=120):
        """Returns what a model reads."""
        result = self.request("tools/call", {"name": tool, "arguments": arguments}, timeout)
        texts = [block.get("text", "") for block in result["content"]] if result else ["timed out"]
        return "\n".join(texts).strip()

    def memory(self):
        """The peak of the resident memory in MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024

    def kill(self):
        self.process.kill()
        self.process.wait()


class Case:
    """A server in a new directory, beside a new simulator, of which a model wants one picture."""

    def __init__(self, environment, name, ready_after):
        self.command, self.make, self.next_call, has_shim = SERVERS[name]
        self.directory, self.texts = environment.prepare("run"), []
        options = ["--public-url", SERVICE] if has_shim else []
        self.simulator = Simulator("--model-prefix", "flux", "--ready-after", str(ready_after),
                                   *options, kiln=str(KILN))
        address = self.simulator.variables()
        state = ["HOME", "KILN_CONFIG_DIR", "KILN_STATE_DIR"]
        self.variables = environment.variables(self.directory) | address | {
            **{variable: str(self.directory / "state") for variable in state},
            "BFL_API_KEY": address["IMAGEKILN_API_KEY"],
            "BFL_API_BASE_URL": address["IMAGEKILN_BASE_URL"],
            "NANO_BANANA_OUTPUT_DIR": str(self.directory),
            "NODE_OPTIONS": f"--import {Path(__file__).with_name('shim.mjs')}" if has_shim else "",
            "SERVICE": SERVICE,
        }

    def start(self):
        return Session(self.command, self.directory, self.variables)

    def paid(self):
        return len(json.loads(self.simulator.get("/api/usage?format=json"))["usage"])

    def wish(self, session):
        """Makes the picture, and saves it if that needs another call."""
        call = self.make
        while call:
            self.texts.append(session.call(*call))
            call = self.next_call(self.texts[-1])

    def end(self):
        """Returns what was paid, and what there is when the delivery URLs have expired."""
        self.simulator.post("/api/clock/advance", {"seconds": EXPIRED})
        files = [path for path in self.directory.iterdir() if path.suffix in (".jpg", ".png")]
        links = set(re.findall(r"https?://\S+/delivery/\S+", "\n".join(self.texts)))
        links = [link.replace(SERVICE, self.simulator.settings["base_url"]) for link in links]
        dead = sum(is_dead(link) for link in links)
        paid = self.paid()
        self.simulator.process.kill()
        return f"{paid} / {len(files)} / {max(0, dead - len(files))}"


def is_dead(url):
    try:
        urllib.request.urlopen(url, timeout=60).close()
        return False
    except urllib.error.HTTPError:
        return True


def once(case):
    session = case.start()
    case.wish(session)
    return session


def timed_out(case):
    session = case.start()
    case.texts.append(session.call(*case.make, TIMEOUT))
    case.wish(session)
    return session


def lost(case):
    case.simulator.post("/api/faults", {"rule": "reply-lost@submission:once"})
    session = once(case)
    case.wish(session)
    return session


def killed(case):
    tool, arguments = case.make
    session = case.start()
    session.send("tools/call", {"name": tool, "arguments": arguments}, id="lost")
    while not case.paid():
        time.sleep(0.1)
    session.kill()
    return once(case)


CASES = {"one call": (1, once), "a call that timed out": (SLOW, timed_out),
         "a lost response": (1, lost), "a killed server": (SLOW, killed)}


def measure(environment, name):
    """Returns a cell for each row."""
    def tokens(text):
        return subprocess.run(["node", "-e", COUNT], input=text, text=True, capture_output=True,
                              check=True, cwd=environment.folder).stdout.strip()

    cells = {}
    for title, (ready_after, play) in CASES.items():
        case = Case(environment, name, ready_after)
        if not cells:
            times = []
            for _ in range(STARTS):
                before = time.monotonic()
                session = case.start()
                times.append(time.monotonic() - before)
                session.kill()
        session = play(case)
        if not cells:
            tools = session.request("tools/list", {})["tools"]
            cells = {"tools": len(tools), "tokens of their definitions": tokens(json.dumps(tools)),
                     "tokens of the results of one call": tokens("\n".join(case.texts)),
                     "start (ms)": f"{1000 * statistics.median(times):.0f}",
                     "memory (MiB)": f"{session.memory():.0f}"}
        # Its work for an earlier call may still go on.
        time.sleep(3)
        session.kill()
        print(f"{name}, {title}:", *case.texts, sep="\n", file=sys.stderr)
        cells[title] = case.end()
    return cells


def build(environment, name):
    """Builds a server from its repository, unless it was built before."""
    repository, commit, commands = SOURCES[name]
    stamp = environment.folder / name / "built"
    if not stamp.exists() or stamp.read_text() != commit:
        directory = environment.prepare(name)
        for command in ["git init", f"git fetch --depth 1 https://github.com/{repository} {commit}",
                        "git checkout FETCH_HEAD", *commands]:
            environment.run(directory, command)
        stamp.write_text(commit)


def main():
    names = sys.argv[1:] or list(SERVERS)
    unknown = set(names) - SERVERS.keys()
    if unknown:
        sys.exit(f"unknown: {', '.join(unknown)}")
    if "KILN" not in os.environ:
        subprocess.run(["cargo", "build", "--release", "--package", "imagekiln-cli",
                        "--target-dir", "target"], cwd=ROOT, check=True)
    environment = Environment("agents")
    columns = {}
    for name in names:
        try:
            if name in SOURCES:
                build(environment, name)
            columns[name] = measure(environment, name)
        except (Failed, OSError) as error:
            print(f"{name}: not run: {error}", file=sys.stderr)
    print("| |", " | ".join(columns), "|\n|---" + "|---" * len(columns) + "|")
    for title in next(iter(columns.values()), []):
        print(f"| {title} |", *[f"{cells[title]} |" for cells in columns.values()])
    sys.exit(len(columns) < len(names))


main()
