"""Makes a picture with the tools that FastMCP makes of the contract."""

import asyncio
import os
import sys
import urllib.request

import httpx2 as httpx
from fastmcp import Client, FastMCP

MAX_POLLS = 100


async def call(client, tool, arguments):
    """Returns the response of the service, which is wrapped if its schema has alternatives."""
    made = (await client.call_tool(tool, arguments)).structured_content
    return made["result"] if made.keys() == {"result"} else made


async def main():
    contract = os.environ["IMAGEKILN_CONTROL_URL"] + "/api/openapi.json?keywords=standard"
    document = httpx.get(contract).raise_for_status().json()
    service = httpx.AsyncClient(base_url=os.environ["IMAGEKILN_BASE_URL"],
                                headers={"x-key": os.environ["IMAGEKILN_API_KEY"]})
    async with Client(FastMCP.from_openapi(document, client=service, name="images")) as client:
        tools = {tool.name: tool for tool in await client.list_tools()}
        # What a model reads must say that a call is paid, and how to go on.
        for part in ["paid", "polling_url"]:
            assert part in tools["gen_2_pro"].description, tools["gen_2_pro"].description
        body = {"prompt": "a red fox in the snow", "width": 256, "height": 256, "seed": 7}
        task = await call(client, "gen_2_pro", body)
        for polls in range(1, MAX_POLLS + 1):
            poll = await call(client, "get_result", {"id": task["id"]})
            if poll["status"] == "Ready":
                urllib.request.urlretrieve(poll["result"]["sample"], sys.argv[1])
                print(polls)
                return
            await asyncio.sleep(0.1)
    raise TimeoutError(task["id"])


asyncio.run(main())
