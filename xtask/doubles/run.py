"""Compares the simulator with general doubles of HTTP services, and prints a table of measurements
and of what each does with the requests of a test suite: python3 xtask/doubles/run.py [KILN]

KILN is a program, by default target/release/kiln. The doubles are installed below `target/doubles`.
Prism reads the contract. A folder beside this file configures WireMock or Mockoon: a task, its
picture and webhook, and a schema of its request.
"""

import hashlib
import hmac
import json
import os
import selectors
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
from environment import ROOT, Environment, Failed, Simulator, request

KILN = str(ROOT / (sys.argv[1] if len(sys.argv) > 1 else "target/release/kiln"))
STARTS, SUBMISSIONS, CONNECTIONS, WARM_UP, SECONDS = 5, 500, 8, 2, 5
KEY, SECRET, TOKEN = {"x-key": "imagekiln-simulator-key"}, "a-secret", "a-token-of-this-table"
VALID = {"prompt": "a red fox", "width": 256, "height": 128, "output_format": "png"}
INVALID = [VALID | {"width": 1}, VALID | {"colour": "red"}, {"width": 256}]
WRONG = {"prompt": "a red fax"}


def pattern(prompt):
    equal = {"expression": "$.prompt", "equalTo": prompt}
    return {"method": "POST", "url": "/v1/gen-2-pro", "bodyPatterns": [{"matchesJsonPath": equal}]}


# The name, the package, the command, and what a test asks the journal: which requests had a prompt,
# and which were near to one that never came.
DOUBLES = [
    ("kiln simulate", None, f"{KILN} simulate --listen 127.0.0.1:PORT --control-listen "
     "127.0.0.1:CONTROL --regional-listen 127.0.0.1:0 --ready-after READY",
     [("CONTROL/api/requests/verify", {"request": {"prompt": VALID["prompt"]}},
       lambda got: f"{got['count']} counted"),
      ("CONTROL/api/requests/verify", {"request": WRONG, "times": 1},
       lambda got: f"{got['problem'].count('POST')} near misses")]),
    ("WireMock", "wiremock", "java -jar ../node_modules/wiremock/build/wiremock-standalone-VERSION"
     ".jar --port PORT --bind-address 127.0.0.1 --disable-banner",
     [("PORT/__admin/requests/count", pattern(VALID["prompt"]),
       lambda got: f"{got['count']} counted"),
      ("PORT/__admin/near-misses/request-pattern", pattern(WRONG["prompt"]),
       lambda got: f"{len(got['nearMisses'])} near misses")]),
    ("Prism", "@stoplight/prism-cli", "prism mock ../contract.json --port PORT", []),
    ("Mockoon", "@mockoon/cli", "mockoon-cli start --data data.json --repair --port PORT "
     f"--hostname 127.0.0.1 --disable-log-to-file --admin-api-token {TOKEN}",
     [("PORT/mockoon-admin/logs", None, lambda got: f"{len(got)} listed")]),
]
ROWS = ["start to the first response (s)", f"memory after {SUBMISSIONS} submissions (MiB)",
        f"submissions per second, {CONNECTIONS} connections", "a valid submission",
        "`width` 1; an unknown field; no `prompt`", "statuses of a task",
        "statuses of the next task", "picture of a request for 256 x 128",
        "a response lost on demand", "webhook", "journal"]


class Running:
    """A double on free ports, which runs until the end of a `with` block."""

    def __init__(self, environment, directory, command, ready):
        listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
        self.ports = [str(listener.getsockname()[1]) for listener in listeners]
        for listener in listeners:
            listener.close()
        self.base = f"http://127.0.0.1:{self.ports[0]}"
        for name, value in zip(["PORT", "CONTROL", "READY"], [*self.ports, ready]):
            command = command.replace(name, value)
        start = time.monotonic()
        self.process = subprocess.Popen(command.split(), cwd=directory, start_new_session=True,
                                        env=environment.variables(directory),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        while self.process.poll() is None:
            try:
                self.submit()
                self.started_after = time.monotonic() - start
                return
            except OSError:
                time.sleep(0.005)
        raise Failed(f"`{command}` ended")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def submit(self, body=VALID, headers=()):
        return request(f"{self.base}/v1/gen-2-pro", json.dumps(body).encode(),
                       KEY | dict(headers))

    def memory(self):
        """Returns the sum of the peaks of its processes, in MiB."""
        own = [path for path in Path("/proc").glob("[0-9]*")
               if os.getsid(int(path.name)) == self.process.pid]
        return sum(int((path / "status").read_text().split("VmHWM:")[1].split()[0])
                   for path in own) // 1024

    def rate(self):
        """Returns the submissions per second."""
        body = json.dumps(VALID)
        message = (f"POST /v1/gen-2-pro HTTP/1.1\r\nhost: localhost\r\nx-key: {KEY['x-key']}\r\n"
                   f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n{body}")
        ready, done, begin = selectors.DefaultSelector(), 0, time.monotonic() + WARM_UP
        for _ in range(CONNECTIONS):
            connection = socket.create_connection(("127.0.0.1", int(self.ports[0])))
            connection.sendall(message.encode())
            ready.register(connection, selectors.EVENT_READ, bytearray())
        while time.monotonic() < begin + SECONDS:
            for key, _ in ready.select(1):
                key.data.extend(key.fileobj.recv(1 << 16))
                # The second is the end of a body in chunks.
                if b"polling_url" in key.data and key.data.endswith((b"}", b"0\r\n\r\n")):
                    done += time.monotonic() >= begin
                    key.data.clear()
                    key.fileobj.sendall(message.encode())
        return done // SECONDS

    def task(self):
        """Returns the different statuses of a task, and the URL of its picture."""
        task, statuses = json.loads(self.submit()[1]), {}
        url = f"{self.base}/v1/get_result?id={task['id']}"
        for _ in range(20):
            poll = json.loads(request(url, headers=KEY)[1])
            statuses[poll["status"]] = True
            if poll["status"] == "Ready":
                break
            time.sleep(0.1)
        return ", ".join(statuses), poll.get("result", {}).get("sample", "")

    def lost(self):
        """Says whether a response gets lost if the request asks for it."""
        try:
            return f"no ({self.submit(headers={'x-simulator-fault': 'reply-lost'})[0]})"
        except OSError:
            return "yes"

    def webhook(self):
        """Says whether a webhook arrives, and whether it has a signature of its body."""
        with socket.create_server(("127.0.0.1", 0)) as receiver:
            url = f"http://127.0.0.1:{receiver.getsockname()[1]}/"
            receiver.settimeout(5)
            self.submit(VALID | {"webhook_url": url, "webhook_secret": SECRET})
            connection = receiver.accept()[0]
            time.sleep(1)
            head, _, body = connection.recv(1 << 16).partition(b"\r\n\r\n")
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
        code = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest().encode()
        return ("signed" if code in head else "not signed") if body else "without a body"


def picture(url):
    """Says what is at a delivery URL."""
    if not url.startswith("http"):
        return f"no URL (`{url}`)"
    png = request(url)[1]
    width, height = (int.from_bytes(png[start:start + 4]) for start in (16, 20))
    return f"{width} x {height}" + ("" if png.endswith(b"IEND\xaeB`\x82") else ", damaged")


def column(environment, name, command, journal):
    """Returns the cells of a double."""
    directory = environment.prepare(name.split()[0].lower())
    for file in [directory / "__files/fox.png", directory / "fox.png"]:
        file.parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / "docs/fox.png", file)
    starts = []
    for _ in range(STARTS):
        with Running(environment, directory, command, "0") as double:
            starts.append(double.started_after)
    with Running(environment, directory, command, "0") as double:
        for _ in range(SUBMISSIONS):
            double.submit()
        cells = [f"{statistics.median(starts):.2f}", double.memory(), double.rate()]
    with Running(environment, directory, command, "0.3") as double:
        cells += [double.submit()[0], "; ".join(str(double.submit(wrong)[0]) for wrong in INVALID)]
        (first, sample), (second, _) = double.task(), double.task()
        cells += [first, second, picture(sample), double.lost(), double.webhook()]
        answers = []
        for path, wanted, read in journal:
            for place, port in zip(["PORT", "CONTROL"], double.ports):
                path = path.replace(place, f"http://127.0.0.1:{port}")
            got = request(path, wanted and json.dumps(wanted).encode(),
                          {"authorization": f"Bearer {TOKEN}"})
            answers.append(read(json.loads(got[1])))
    return [*cells, ", ".join(answers) or "none"]


def main():
    environment, columns = Environment("doubles"), []
    if missing := environment.missing(["npm", "java"]):
        sys.exit(missing)
    with Simulator(kiln=KILN) as simulator:
        (environment.folder / "contract.json").write_text(
            simulator.get("/api/openapi.json?keywords=standard"))
    for name, package, command, journal in DOUBLES:
        version = environment.version(package) if package else ""
        cells = column(environment, name, command.replace("VERSION", version), journal)
        columns.append([f"{name} {version}".strip(), *cells])
    for row in zip(["", *ROWS], *columns):
        print(f"| {' | '.join(map(str, row))} |")


main()
