import asyncio
import os

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

SERVER = StdioServerParameters(
    command="kiln", args=["mcp", "--simulate", "--budget", "20"], env=dict(os.environ)
)
FOX = {"prompt": "a red fox", "fields": {"width": 64, "height": 64}}


async def main():
    notes = []

    async def note(progress, total, message):
        notes.append(message)

    async with stdio_client(SERVER) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        tools = (await session.list_tools()).tools
        made = await session.call_tool("make", FOX, progress_callback=note)
        again = await session.call_tool("make", FOX)
        facts = [result.structured_content for result in (made, again)]
        assert facts[0]["number"] == facts[1]["number"] == "@1", facts
        assert [block.type for block in made.content] == ["text", "image", "resource_link"]
        calls = {
            "edit": {"prompt": "in the snow", "images": ["@1"]},
            "run": {"model": "gen-2-flex", "fields": FOX["fields"] | {"prompt": "an owl"}},
            "models": {"model": "gen-2-pro"},
            "look": {"number": "@2"},
            "pictures": {"search": "fox"},
            "spending": {},
        }
        for name, arguments in calls.items():
            result = await session.call_tool(name, arguments)
            assert not result.is_error, result
        spent = result.structured_content["this_start"]["spent"]
        wrong = await session.call_tool("make", FOX | {"file": "/fox.png"})
        assert wrong.is_error and notes, (wrong, notes)
        print(len(tools), "tools,", len(os.listdir()), "files,", spent, "credits")


asyncio.run(main())
