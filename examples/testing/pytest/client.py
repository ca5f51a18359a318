"""The program under test: a client in 25 lines."""

import json
import os
import time
import urllib.error
import urllib.request


def picture_of(prompt):
    url = os.environ["IMAGEKILN_BASE_URL"] + "/v1/gen-2-pro"
    body = json.dumps({"prompt": prompt, "width": 64, "height": 64}).encode()
    key = {"x-key": os.environ["IMAGEKILN_API_KEY"]}
    submission = urllib.request.Request(url, body, {"content-type": "application/json", **key})
    with urllib.request.urlopen(submission) as response:
        task = json.load(response)
    while True:
        poll = urllib.request.Request(task["polling_url"], headers=key)
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
