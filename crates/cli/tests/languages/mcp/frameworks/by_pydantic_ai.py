"""An agent of Pydantic AI; `run.py` says what it does."""

import asyncio
import json
import os
import sys

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

calls, timeout = json.loads(sys.argv[1]), float(sys.argv[2])


def model(messages, _):
    for part in messages[-1].parts:
        if part.part_kind == "tool-return":
            # A picture comes after the facts.
            facts = part.content[0] if isinstance(part.content, list) else part.content
            print(json.dumps(facts), flush=True)
    return ModelResponse([ToolCallPart(*calls.pop(0)) if calls else TextPart("done")])


async def main():
    server = StdioTransport("kiln", ["mcp", "--budget", "20"], env=dict(os.environ))
    # By default, the second call that times out ends the run.
    tools = MCPToolset(server, read_timeout=timeout, max_retries=10)
    await Agent(FunctionModel(model), toolsets=[tools]).run("a picture of a fox")


asyncio.run(main())
