const { pictureOf } = require("./client");
const { addFault, count } = require("imagekiln-cli/simulator");

test("a picture is paid for once", async () => {
  const picture = await pictureOf("a red fox");
  expect([...picture.slice(0, 2)]).toEqual([0xff, 0xd8]);
  const paid = { operation: "gen-2-pro", status: 200, request: { prompt: "a red fox" } };
  expect(await count(paid)).toBe(1);
});

test("a failed poll is repeated", async () => {
  await addFault("html-502@poll:2x");
  await pictureOf("a red fox");
  expect(await count({ fault: "html-502" })).toBe(2);
  expect(await count({ method: "POST" })).toBe(1);
});
