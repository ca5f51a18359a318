"""An agent of the OpenAI Agents SDK; `run.py` says what it does."""

import asyncio
import json
import os
import sys

from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from agents.mcp import MCPServerStdio
from openai.types.responses import (
    ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText,
)

calls, timeout = json.loads(sys.argv[1]), float(sys.argv[2])


class Scripted(Model):
    async def get_response(self, system_instructions, input, *args, **kwargs):
        if "output" in input[-1]:
            output = input[-1]["output"]
            # A picture comes after the facts.
            print(json.dumps(output) if isinstance(output, str) else output[0]["text"], flush=True)
        if calls:
            name, arguments = calls.pop(0)
            item = ResponseFunctionToolCall(type="function_call", call_id=f"call-{len(calls)}",
                                            name=name, arguments=json.dumps(arguments))
        else:
            text = ResponseOutputText(type="output_text", text="done", annotations=[])
            item = ResponseOutputMessage(id="done", type="message", role="assistant",
                                         status="completed", content=[text])
        return ModelResponse(output=[item], usage=Usage(), response_id=None)

    def stream_response(self, *args, **kwargs):
        raise NotImplementedError


async def main():
    set_tracing_disabled(True)
    params = {"command": "kiln", "args": ["mcp", "--budget", "20"], "env": dict(os.environ)}
    async with MCPServerStdio(params, client_session_timeout_seconds=timeout) as server:
        agent = Agent("painter", model=Scripted(), mcp_servers=[server])
        await Runner.run(agent, "a picture of a fox")


asyncio.run(main())
