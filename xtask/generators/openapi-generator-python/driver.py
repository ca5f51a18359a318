"""Makes a picture with the client of openapi-generator's `python`."""

import os
import sys
import time
import urllib.request

from openapi_client import ApiClient, Configuration, Gen2Pro, GenerationApi, TasksApi

MAX_POLLS = 100


def main() -> None:
    configuration = Configuration(
        host=os.environ["IMAGEKILN_BASE_URL"],
        api_key={"ApiKey": os.environ["IMAGEKILN_API_KEY"]},
    )
    with ApiClient(configuration) as client:
        request = Gen2Pro(prompt="a red fox in the snow", width=256, height=256, seed=7)
        task = GenerationApi(client).gen2_pro(request).actual_instance
        tasks = TasksApi(client)
        for polls in range(1, MAX_POLLS + 1):
            poll = tasks.get_result(task.id)
            if poll.status == "Ready":
                urllib.request.urlretrieve(poll.result.sample, sys.argv[1])
                print(polls)
                return
            time.sleep(0.1)
    sys.exit(f"the task {task.id} was not ready after {MAX_POLLS} polls")


main()
