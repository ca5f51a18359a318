"""Starts one simulator for all tests, and resets it before each of them."""

import json
import subprocess
import urllib.request

import pytest


class Simulator:
    def __init__(self, settings):
        self.base_url = settings["base_url"]
        self.api_key = settings["api_key"]
        self.control_url = settings["control_url"]

    def control(self, path, body):
        """Posts to the control port, which takes no key."""
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(self.control_url + path, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request) as response:
            return json.load(response)


@pytest.fixture(scope="session")
def running_simulator():
    command = ["kiln", "simulate", "--json", "--port", "0", "--ready-after", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    # It prints its settings as soon as it accepts requests.
    yield Simulator(json.loads(process.stdout.readline()))
    process.terminate()
    process.wait()


@pytest.fixture
def simulator(running_simulator):
    running_simulator.control("/api/reset", {})
    return running_simulator
