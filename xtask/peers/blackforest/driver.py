"""Makes pictures with the official Python client, which polls once per second by default."""

import os
from concurrent.futures import ThreadPoolExecutor

import requests
from blackforest import BFLClient
from blackforest.types.general.client_config import ClientConfig

MODEL = os.environ["IMAGEKILN_MODEL_PREFIX"] + "-dev"
REQUEST = {"prompt": "a red fox in the snow", "width": 256, "height": 256}

client = BFLClient(os.environ["IMAGEKILN_API_KEY"], base_url=os.environ["IMAGEKILN_BASE_URL"])
session = requests.Session()


def make(number):
    response = client.generate(MODEL, REQUEST | {"seed": number}, ClientConfig(sync=True))
    picture = session.get(response.result["sample"])
    picture.raise_for_status()
    with open(f"pictures/{number}.jpg", "wb") as file:
        file.write(picture.content)


with ThreadPoolExecutor(int(os.environ["AT_ONCE"])) as pool:
    list(pool.map(make, range(int(os.environ["PICTURES"]))))
