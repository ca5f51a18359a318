from client import picture_of


def test_a_picture_is_paid_for_once(simulator):
    assert picture_of(simulator, "a red fox").startswith(b"\xff\xd8")
    submissions = {"operation": "gen-2-pro", "status": 200, "request": {"prompt": "a red fox"}}
    assert simulator.control("/api/requests/verify", submissions)["count"] == 1


def test_a_failed_poll_is_repeated(simulator):
    simulator.control("/api/faults", {"rule": "html-502@poll:2x"})
    assert picture_of(simulator, "a red fox").startswith(b"\xff\xd8")
    assert simulator.control("/api/requests/verify", {"fault": "html-502"})["count"] == 2
    assert simulator.control("/api/requests/verify", {"method": "POST"})["count"] == 1
