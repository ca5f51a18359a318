"""Tests each operation with generated requests, and prints a line for each check or finding."""

import base64
import json
import os
import re
import subprocess
import sys
import urllib.request

# More examples take longer, and found nothing else.
OPTIONS = ["--checks", "all", "--max-examples", "50", "--seed", "1", "--continue-on-failure"]
OPTIONS += ["--generation-database", "none", "--no-color"]
REPORT = "report.ndjson"


def run():
    # The control port takes no key, so the tester can't fetch the document itself.
    document = os.environ["IMAGEKILN_CONTROL_URL"] + "/api/openapi.json"
    urllib.request.urlretrieve(document, "openapi.json")
    command = ["schemathesis", "run", "openapi.json", "--url", os.environ["IMAGEKILN_BASE_URL"]]
    command += ["--header", "x-key: " + os.environ["IMAGEKILN_API_KEY"]]
    command += OPTIONS + ["--report", "ndjson", "--report-ndjson-path", REPORT]
    with open("output.txt", "w") as output:
        code = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT).returncode
    # It ends with 1 if a check fails.
    if code not in (0, 1):
        sys.exit(open("output.txt").read())


def reasons(message, interaction):
    """What is wrong with a response, each with the place in the request."""
    response = (interaction or {}).get("response") or {}
    status = response.get("status_code")
    body = base64.b64decode((response.get("content") or {}).get("$base64", ""))
    try:
        violations = json.loads(body)["detail"] if status == 422 else None
    except ValueError:
        violations = None
    if not isinstance(violations, list):
        return [(f"{message}; response {status}", "")]
    # The rest of a message is about the bytes that were sent.
    shown = [re.sub("(not valid base64).*", r"\1", it["msg"]) for it in violations]
    places = [".".join(map(str, it["loc"])) for it in violations]
    return [(f"response 422: {text}", f" {place}") for text, place in zip(shown, places)]


def findings():
    """The checks, and for each reason the operations with it."""
    found = {}
    for line in open(REPORT):
        recorder = json.loads(line).get("ScenarioFinished", {}).get("recorder") or {}
        for case, checks in (recorder.get("checks") or {}).items():
            for check in checks:
                places = found.setdefault(check["name"], {})
                if check["status"] == "success":
                    continue
                sent = recorder["cases"][case]["value"]
                message = check["failure_info"]["failure"]["message"].splitlines()[-1]
                for reason, place in reasons(message, recorder["interactions"].get(case)):
                    operation = f"{sent['method']} {sent['path']}{place}"
                    places.setdefault(reason, set()).add(operation)
    return found


run()
for check, reasons_found in sorted(findings().items()):
    if not reasons_found:
        print("ok", check)
    for reason, places in sorted(reasons_found.items()):
        print(f"failed {check}: {' '.join(reason.split())} ({len(places)}: {min(places)})")
