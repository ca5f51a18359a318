"""Makes pictures with an asynchronous client written by hand, which polls every half second."""

import asyncio
import os

import httpx

MODEL = os.environ["IMAGEKILN_MODEL_PREFIX"] + "-dev"
REQUEST = {"prompt": "a red fox in the snow", "width": 256, "height": 256}
INTERVAL = 0.5
ENDED = ("Error", "Request Moderated", "Content Moderated", "Task not found")


async def request(client, method, url, **options):
    response = await client.request(method, url, **options)
    response.raise_for_status()
    return response


async def make(client, number):
    headers = {"x-key": os.environ["IMAGEKILN_API_KEY"]}
    options = {"headers": headers, "json": REQUEST | {"seed": number}}
    task = (await request(client, "POST", f"/v1/{MODEL}", **options)).json()
    while True:
        await asyncio.sleep(INTERVAL)
        poll = (await request(client, "GET", task["polling_url"], headers=headers)).json()
        if poll["status"] == "Ready":
            break
        if poll["status"] in ENDED:
            raise RuntimeError(f"{task['id']}: {poll['status']}")
    picture = await request(client, "GET", poll["result"]["sample"])
    with open(f"pictures/{number}.jpg", "wb") as file:
        file.write(picture.content)


async def main():
    slots = asyncio.Semaphore(int(os.environ["AT_ONCE"]))
    async with httpx.AsyncClient(base_url=os.environ["IMAGEKILN_BASE_URL"]) as client:

        async def limited(number):
            async with slots:
                await make(client, number)

        await asyncio.gather(*map(limited, range(int(os.environ["PICTURES"]))))


asyncio.run(main())
