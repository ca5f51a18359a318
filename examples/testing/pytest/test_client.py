from client import picture_of


def test_a_picture_is_paid_for_once(kiln_simulator):
    assert picture_of("a red fox").startswith(b"\xff\xd8")
    paid = {"operation": "gen-2-pro", "status": 200, "request": {"prompt": "a red fox"}}
    kiln_simulator.verify(1, **paid)
    assert len(kiln_simulator.control("/api/usage?format=json")["usage"]) == 1


def test_a_failed_poll_is_repeated(kiln_simulator):
    kiln_simulator.add_fault("html-502@poll:2x")
    picture_of("a red fox")
    kiln_simulator.verify(2, fault="html-502")
    kiln_simulator.verify(1, method="POST")
