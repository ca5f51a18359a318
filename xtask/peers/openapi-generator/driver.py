"""Makes pictures with the client of openapi-generator's `python`, and polls every half second."""

import os
import time
from concurrent.futures import ThreadPoolExecutor

import urllib3
from openapi_client import ApiClient, Configuration, GenDev, GenerationApi, TasksApi

INTERVAL = 0.5
ENDED = ("Error", "Request Moderated", "Content Moderated", "Task not found")

configuration = Configuration(
    host=os.environ["IMAGEKILN_BASE_URL"],
    api_key={"ApiKey": os.environ["IMAGEKILN_API_KEY"]},
)
client = ApiClient(configuration)
generation, tasks = GenerationApi(client), TasksApi(client)
downloads = urllib3.PoolManager()


def make(number):
    request = GenDev(prompt="a red fox in the snow", width=256, height=256, seed=number)
    task = generation.gen_dev(request).actual_instance
    while True:
        time.sleep(INTERVAL)
        poll = tasks.get_result(task.id)
        if poll.status == "Ready":
            break
        if poll.status in ENDED:
            raise RuntimeError(f"{task.id}: {poll.status}")
    picture = downloads.request("GET", poll.result.sample)
    if picture.status != 200:
        raise RuntimeError(f"{task.id}: the download failed ({picture.status})")
    with open(f"pictures/{number}.jpg", "wb") as file:
        file.write(picture.data)


with ThreadPoolExecutor(int(os.environ["AT_ONCE"])) as pool:
    list(pool.map(make, range(int(os.environ["PICTURES"]))))
