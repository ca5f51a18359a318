"""Fixtures for tests that use the simulator."""

import pytest

from imagekiln_cli import Simulator


@pytest.fixture(scope="session")
def kiln_simulate_options():
    """Options of `kiln simulate`. A fixture of this name in `conftest.py` replaces them."""
    return ["--ready-after", "0"]


@pytest.fixture(scope="session")
def running_kiln_simulator(kiln_simulate_options):
    """The simulator of all tests of this process. It is not reset."""
    with Simulator(kiln_simulate_options) as simulator:
        yield simulator


@pytest.fixture
def kiln_simulator(running_kiln_simulator, monkeypatch):
    """A simulator without tasks and faults. The variables that clients read lead to it."""
    running_kiln_simulator.reset()
    for name, value in running_kiln_simulator.environment.items():
        monkeypatch.setenv(name, value)
    return running_kiln_simulator
