// An agent of the AI SDK; `run.py` says what it does.
const { createMCPClient } = require("@ai-sdk/mcp");
const { Experimental_StdioMCPTransport: Stdio } = require("@ai-sdk/mcp/mcp-stdio");
const { generateText, isStepCount } = require("ai");
const { MockLanguageModelV4 } = require("ai/test");

const calls = JSON.parse(process.argv[2]);
const usage = { inputTokens: {}, outputTokens: {} };

const model = new MockLanguageModelV4({
  doGenerate: ({ prompt }) => {
    const { role, content } = prompt.at(-1);
    if (role === "tool") {
      const { type, value } = content[0].output;
      // A picture comes after the facts.
      console.log(type === "content" ? value[0].text : JSON.stringify(value));
    }
    const [toolName, input] = calls.shift() ?? [];
    const call = { type: "tool-call", toolCallId: `call-${calls.length}`, toolName };
    return toolName
      ? {
          content: [{ ...call, input: JSON.stringify(input) }],
          finishReason: { unified: "tool-calls" },
          usage,
        }
      : { content: [{ type: "text", text: "done" }], finishReason: { unified: "stop" }, usage };
  },
});

async function main() {
  const args = ["mcp", "--budget", "20"];
  const transport = new Stdio({ command: "kiln", args, env: process.env });
  const client = await createMCPClient({ transport });
  await generateText({
    model,
    tools: await client.tools(),
    prompt: "a picture of a fox",
    stopWhen: isStepCount(20),
    timeout: { toolMs: 1000 * process.argv[3] },
  });
  await client.close();
}

main();
