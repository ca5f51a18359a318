"""The simulator of kiln, for tests."""

import json
import shutil
import subprocess
import sysconfig
import urllib.error
import urllib.request

# The simulator is on this machine: HTTP_PROXY is for other hosts.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Simulator:
    """A simulator on free ports of this machine. Stop it with `stop`, or use it in `with`."""

    def __init__(self, options=("--ready-after", "0")):
        # The program of this package, even if its environment is not activated.
        kiln = shutil.which("kiln", path=sysconfig.get_path("scripts")) or "kiln"
        command = [kiln, "simulate", "--json", "--port", "0", "--stop-with-stdin", *options]
        # Its input ends with this process, even if that is killed.
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
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

    def control(self, path, body=None):
        """Gets a path of the control port, which takes no key, or posts a body to it. Returns the
        response."""
        headers = {"content-type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.control_url + path, data, headers)
        try:
            with _OPENER.open(request) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            problem = f"{path}: {error.code} {error.read().decode()}"
        raise RuntimeError(problem)

    def reset(self):
        """Removes all tasks, webhooks, requests and faults."""
        self.control("/api/reset", {})

    def add_fault(self, rule):
        """Adds a fault, such as `html-502@poll:2x`."""
        self.control("/api/faults", {"rule": rule})

    def count(self, **pattern):
        """Returns the number of received requests that match the pattern."""
        return self.control("/api/requests/verify", pattern)["count"]

    def verify(self, times, **pattern):
        """Asserts that this number of requests match the pattern. Otherwise the error shows the
        requests that do, or those that differ least, with what differs."""
        problem = self.control("/api/requests/verify", {"times": times, **pattern})["problem"]
        assert problem is None, problem

    def stop(self):
        self._process.terminate()
        self._process.communicate()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
