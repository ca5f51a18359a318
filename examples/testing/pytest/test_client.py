from client import picture_of


def test_a_picture_is_paid_for_once(kiln_simulator):
    assert picture_of("a red fox").startswith(b"\xff\xd8")
    paid = {"operation": "gen-2-pro", "status": 200, "request": {"prompt": "a red fox"}}
    assert kiln_simulator.count(**paid) == 1


def test_a_failed_poll_is_repeated(kiln_simulator):
    kiln_simulator.add_fault("html-502@poll:2x")
    picture_of("a red fox")
    assert kiln_simulator.count(fault="html-502") == 2
    assert kiln_simulator.count(method="POST") == 1
