"""Makes a picture with the client of openapi-python-client."""

import os
import sys
import time
import urllib.request

from image_generation_and_editing_service_client import AuthenticatedClient
from image_generation_and_editing_service_client.api.generation import gen_2_pro
from image_generation_and_editing_service_client.api.tasks import get_result
from image_generation_and_editing_service_client.models import (
    AsyncResponse,
    Gen2Pro,
    PollResult,
    TaskResult,
)

MAX_POLLS = 100


def main() -> None:
    client = AuthenticatedClient(
        base_url=os.environ["IMAGEKILN_BASE_URL"],
        token=os.environ["IMAGEKILN_API_KEY"],
        prefix="",
        auth_header_name="x-key",
    )
    request = Gen2Pro(prompt="a red fox in the snow", width=256, height=256, seed=7)
    task = gen_2_pro.sync(client=client, body=request)
    if not isinstance(task, AsyncResponse):
        sys.exit(f"the submission failed: {task}")
    for polls in range(1, MAX_POLLS + 1):
        poll = get_result.sync(client=client, id=task.id)
        if not isinstance(poll, PollResult):
            sys.exit(f"the poll failed: {poll}")
        if poll.status == "Ready" and isinstance(poll.result, TaskResult):
            urllib.request.urlretrieve(poll.result.sample, sys.argv[1])
            print(polls)
            return
        time.sleep(0.1)
    sys.exit(f"the task {task.id} was not ready after {MAX_POLLS} polls")


main()
