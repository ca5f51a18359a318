"""The simulator of kiln, for tests."""

import json
import shutil
import subprocess
import sysconfig
import urllib.request


class Simulator:
    """A simulator on free ports of this machine. Stop it with `stop`, or use it in `with`."""

    def __init__(self, options=("--ready-after", "0")):
        # The program of this package, even if its environment is not activated.
        kiln = shutil.which("kiln", path=sysconfig.get_path("scripts")) or "kiln"
        command = [kiln, "simulate", "--json", "--port", "0", *options]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        # It prints its settings as soon as it accepts requests, or an error to standard error.
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"`{' '.join(command)}` failed: exit code {self._process.wait()}")
        settings = json.loads(line)
        self.base_url = settings["base_url"]
        self.regional_base_url = settings["regional_base_url"]
        self.control_url = settings["control_url"]
        self.api_key = settings["api_key"]
        # The variables that clients read.
        self.environment = {f"IMAGEKILN_{name.upper()}": settings[name] for name in settings}

    def control(self, path, body):
        """Posts to the control port, which takes no key, and returns the response."""
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(self.control_url + path, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request) as response:
            return json.load(response)

    def reset(self):
        """Removes all tasks, webhooks, requests and faults."""
        self.control("/api/reset", {})

    def add_fault(self, rule):
        """Adds a fault, such as `html-502@poll:2x`."""
        self.control("/api/faults", {"rule": rule})

    def count(self, **pattern):
        """Returns the number of received requests that match the pattern."""
        return self.control("/api/requests/verify", pattern)["count"]

    def stop(self):
        self._process.terminate()
        self._process.communicate()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
