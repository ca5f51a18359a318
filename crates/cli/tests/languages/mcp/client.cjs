const assert = require("node:assert/strict");
const { readdirSync } = require("node:fs");
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");
const { ElicitRequestSchema } = require("@modelcontextprotocol/sdk/types.js");

const FIELDS = { width: 64, height: 64 };
const FOX = { prompt: "a red fox", fields: FIELDS };

async function main() {
  const client = new Client(
    { name: "test", version: "1" },
    { capabilities: { elicitation: { form: {} } } },
  );
  const questions = [];
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    questions.push(params.message);
    return { action: "accept", content: {} };
  });
  const args = ["mcp", "--simulate", "--budget", "3"];
  await client.connect(new StdioClientTransport({ command: "kiln", args, env: process.env }));
  const notes = [];
  const onprogress = (note) => notes.push(note.message);
  const call = async (name, args) => {
    const result = await client.callTool({ name, arguments: args }, undefined, { onprogress });
    assert(!result.isError, JSON.stringify(result));
    return result;
  };
  const { tools } = await client.listTools();
  const made = await call("make", FOX);
  const types = made.content.map((block) => block.type);
  assert.deepEqual(types, ["text", "image", "resource_link"]);
  const again = await call("make", FOX);
  assert.equal(again.structuredContent.number, made.structuredContent.number);
  await call("edit", { prompt: "in the snow", images: ["@1"] });
  await call("run", { model: "gen-2-flex", fields: { ...FIELDS, prompt: "an owl" } });
  await call("models", { model: "gen-2-pro" });
  await call("look", { number: "@2" });
  await call("pictures", { search: "fox" });
  const spent = (await call("spending", {})).structuredContent.this_start.spent;
  const { resources } = await client.listResources();
  for (const { uri } of resources) {
    await client.readResource({ uri });
  }
  const wrong = await client.callTool({ name: "make", arguments: { ...FOX, file: "/fox.png" } });
  assert(wrong.isError && notes.length > 0);
  await client.close();
  console.log(
    `${tools.length} tools, ${resources.length} resources, ${readdirSync(".").length} files, ` +
      `${spent} credits, ${questions.length} questions`,
  );
}

main();
