"""The program under test: a client in 25 lines."""

import json
import time
import urllib.error
import urllib.request


def picture_of(simulator, prompt):
    body = json.dumps({"prompt": prompt, "width": 64, "height": 64}).encode()
    headers = {"content-type": "application/json", "x-key": simulator.api_key}
    submission = urllib.request.Request(simulator.base_url + "/v1/gen-2-pro", body, headers)
    with urllib.request.urlopen(submission) as response:
        task = json.load(response)
    while True:
        poll = urllib.request.Request(task["polling_url"], headers={"x-key": simulator.api_key})
        try:
            with urllib.request.urlopen(poll) as response:
                answer = json.load(response)
        except urllib.error.HTTPError as error:
            if error.code < 500:
                raise
            continue
        if answer["status"] == "Ready":
            with urllib.request.urlopen(answer["result"]["sample"]) as response:
                return response.read()
        time.sleep(0.1)
