"""Runs an agent framework with `kiln mcp` and a model that follows a script: its calls time out,
its program is killed, and in a new session it wants the same picture, which is paid once.

    kiln simulate --ready-after 3600 -- python3 run.py COMMAND...

The command gets the calls of the model as JSON, and the seconds after which a call times out. It
prints what the model reads of each result, as a line of JSON.
"""

import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

FOX = ["make", {"prompt": "a red fox", "fields": {"width": 64, "height": 64}}]
LATER = [FOX, ["look", {"number": "@1"}], ["pictures", {"search": "fox"}], ["spending", {}]]


def control(path, body=None):
    url, data = os.environ["IMAGEKILN_CONTROL_URL"] + path, body and json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def usage():
    """Returns the tasks that the account paid for."""
    return control("/api/usage?format=json")["usage"]


def start(calls, timeout):
    command = [*sys.argv[1:], json.dumps(calls), str(timeout)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def main():
    first = start([FOX] * 10, 1)
    for _ in range(2):
        read = json.loads(first.stdout.readline())
        assert isinstance(read, str), f"the call did not time out: {read}"
        print(f"the model reads: {read}")
    while not usage():
        pass
    first.kill()
    control("/api/clock/advance", {"seconds": 3600})
    second = start(LATER, 60)
    printed, _ = second.communicate()
    assert second.returncode == 0
    made, looked, pictures, spending = map(json.loads, printed.splitlines())
    assert made["state"] == "saved" and made["paid_now"] is False, made
    assert looked["path"] == made["path"] and Path(made["path"]).stat().st_size, looked
    assert [picture["number"] for picture in pictures["pictures"]] == ["@1"], pictures
    assert [task["cost"] for task in usage()] == [spending["today"]["spent"]], (usage(), spending)
    print("one picture was paid, and is saved")


with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
    os.chdir(directory)
    os.environ |= {"KILN_STATE_DIR": directory, "KILN_CONFIG_DIR": directory}
    main()
