"""Submits many small tasks to one simulator, and advances its clock by 24 hours meanwhile:
python3 xtask/doubles/many.py [KILN [TASKS [SECONDS [MAX_KEPT_BYTES]]]]

Prints the memory of the simulator and the times of its responses every three hours of its clock.
After each three hours, a task is polled before and after it is ready, and its picture downloaded.
KILN is a program, by default target/release/kiln.
"""

import json
import re
import socket
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
from environment import Simulator, request

# By default a quarter of the simulator's MAX_KEPT_BYTES, so that a slow one drops tasks, too.
DEFAULTS = ["target/release/kiln", 1_000_000, 600, 1 << 28]
KILN, TASKS, SECONDS, KEPT = [*sys.argv[1:], *DEFAULTS[len(sys.argv) - 1:]]
# The clock advances by STEP seconds after each round, in the middle of which tasks get ready.
ROUNDS, STEP, CONNECTIONS, AT_ONCE = 288, 300, 4, 50
SETTINGS = (f"max_kept_bytes = {KEPT}\nready_after = 150\nmax_active_tasks = 1000000\n"
            "[prices]\nsubmission = 0\noutput_megapixel = 0\n")
BODY = b'{"prompt": "fox", "width": 64, "height": 64, "output_format": "png"}'
KEY = {"x-key": "imagekiln-simulator-key"}


def poll(url):
    return json.loads(request(url, headers=KEY)[1])


def timed(name, urls, body=None):
    """Sends requests, and returns the bodies of their responses and a text about their times."""
    times, bodies = [time.monotonic()], []
    for url in urls:
        bodies.append(json.loads(request(url, body, KEY)[1]))
        times.append(time.monotonic())
    each = sorted(1000 * (end - start) for start, end in zip(times, times[1:]))
    return bodies, f"{name} {statistics.median(each):.1f} ms (longest {each[-1]:.1f})"


def measure(hours):
    """Prints a line, and returns the polling URL of a new task."""
    tasks, submission = timed("submission", [f"{base}/v1/gen-2-pro"] * 100, BODY)
    urls = [task["polling_url"] for task in tasks]
    status = Path(f"/proc/{simulator.process.pid}/status").read_text()
    memory = int(re.search(r"VmRSS:\s+(\d+)", status)[1]) // 1024
    print(f"{hours} h, {time.monotonic() - start:.0f} s: {submitted} tasks, {memory} MiB, "
          f"{submission}, {timed('poll', urls)[1]}", flush=True)
    return urls[-1]


def submit():
    """Submits AT_ONCE tasks on each connection, and then reads the responses."""
    for connection in connections:
        connection.sendall(message * AT_ONCE)
    for connection in connections:
        read = b""
        while read.count(b"polling_url") < AT_ONCE or not read.endswith(b"}"):
            read += connection.recv(1 << 20)
            assert b"HTTP/1.1 4" not in read, read[-500:]


with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
    file.write(SETTINGS)
    file.flush()
    with Simulator("--config", file.name, kiln=KILN) as simulator:
        base, samples, submitted, start = simulator.settings["base_url"], [], 0, time.monotonic()
        host, port = base.removeprefix("http://").split(":")
        connections = [socket.create_connection((host, port)) for _ in range(CONNECTIONS)]
        message = (f"POST /v1/gen-2-pro HTTP/1.1\r\nhost: {host}:{port}\r\n"
                   f"x-key: {KEY['x-key']}\r\ncontent-type: application/json\r\n"
                   f"content-length: {len(BODY)}\r\n\r\n").encode() + BODY
        for number in range(1, ROUNDS + 1):
            if is_sampled := number % 36 == 1:
                samples.append(measure(number // 12))
            until = start + int(SECONDS) * number / ROUNDS
            while submitted < int(TASKS) * number / ROUNDS and time.monotonic() < until:
                submit()
                submitted += AT_ONCE * CONNECTIONS
            before = poll(samples[-1])
            simulator.post("/api/clock/advance", {"seconds": STEP})
            if is_sampled:
                after = poll(samples[-1])
                assert (before["status"], after["status"]) == ("Pending", "Ready"), (before, after)
                delivery = after["result"]["sample"]
                assert request(delivery)[1].startswith(b"\x89PNG")
        samples.append(measure(24))
        print("polls of the samples:", [poll(url)["status"] for url in samples])
        print("an old delivery URL:", request(delivery)[0])
        print("counts:", json.loads(simulator.get("/api/state"))["counts"])
