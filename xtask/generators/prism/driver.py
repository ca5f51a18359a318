"""Makes a picture through Prism, which checks each request and response against the contract."""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request

CONTRACT = os.environ["IMAGEKILN_CONTROL_URL"] + "/api/openapi.json?keywords=standard"
BASE = os.environ["IMAGEKILN_BASE_URL"]
MAX_POLLS = 100


def call(url, body=None):
    """Returns the status code, and the response as JSON."""
    headers = {"x-key": os.environ["IMAGEKILN_API_KEY"], "content-type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, headers)) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


prism = subprocess.Popen(["prism", "proxy", CONTRACT, BASE, "--errors", "--port", "0"],
                         stdout=subprocess.PIPE, text=True)
try:
    proxy = next(line.split()[-1] for line in prism.stdout if "Prism is listening on" in line)
    for wrong in [{}, {"prompt": 7}, {"prompt": "a fox", "output_format": "gif"}]:
        status, problem = call(f"{proxy}/v1/gen-2-pro", wrong)
        # The simulator's own has no `type`.
        assert status == 422 and "prism" in problem["type"], (wrong, status, problem)
    body = {"prompt": "a red fox in the snow", "width": 256, "height": 256, "seed": 7,
            "output_format": None}
    status, task = call(f"{proxy}/v1/gen-2-pro", body)
    assert status == 200, task
    for polls in range(1, MAX_POLLS + 1):
        status, poll = call(f"{proxy}/v1/get_result?id={task['id']}")
        assert status == 200, poll
        if poll["status"] == "Ready":
            urllib.request.urlretrieve(poll["result"]["sample"], sys.argv[1])
            print(polls)
            break
        time.sleep(0.1)
finally:
    prism.kill()
