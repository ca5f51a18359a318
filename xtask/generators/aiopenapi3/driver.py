"""Makes a picture with the client that aiopenapi3 makes of the contract."""

import json
import os
import sys
import time
import urllib.request
from pathlib import Path

import httpx2 as httpx
from aiopenapi3 import OpenAPI

MAX_POLLS = 100


def main():
    document = json.loads(Path("../../../openapi.json").read_text())
    document["servers"] = [{"url": os.environ["IMAGEKILN_BASE_URL"]}]
    api = OpenAPI("openapi.json", document, session_factory=httpx.Client,
                  use_operation_tags=False)
    api.authenticate(ApiKey=os.environ["IMAGEKILN_API_KEY"])
    request = {"prompt": "a red fox in the snow", "width": 256, "height": 256, "seed": 7}
    task = api._.gen_2_pro(data=request)
    for polls in range(1, MAX_POLLS + 1):
        poll = api._.get_result(parameters={"id": task.id})
        if poll.status == "Ready":
            urllib.request.urlretrieve(poll.result.sample, sys.argv[1])
            print(polls)
            return
        time.sleep(0.1)
    sys.exit(f"the task {task.id} was not ready after {MAX_POLLS} polls")


main()
