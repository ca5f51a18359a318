const { pictureOf } = require("./client");
const { addFault, control, verify } = require("imagekiln-cli/simulator");

test("a picture is paid for once", async () => {
  const picture = await pictureOf("a red fox");
  expect([...picture.slice(0, 2)]).toEqual([0xff, 0xd8]);
  const paid = { operation: "gen-2-pro", status: 200, request: { prompt: "a red fox" } };
  await verify(1, paid);
  const { usage } = await control("/api/usage?format=json");
  expect(usage).toHaveLength(1);
});

test("a failed poll is repeated", async () => {
  await addFault("html-502@poll:2x");
  await pictureOf("a red fox");
  await verify(2, { fault: "html-502" });
  await verify(1, { method: "POST" });
});
