const { pictureOf } = require("./client");
const { settings, control } = require("./simulator");

beforeEach(() => control("/api/reset", {}));

test("a picture is paid for once", async () => {
  const picture = await pictureOf(settings, "a red fox");
  expect([...picture.slice(0, 2)]).toEqual([0xff, 0xd8]);
  const submissions = { operation: "gen-2-pro", status: 200, request: { prompt: "a red fox" } };
  expect(await control("/api/requests/verify", submissions)).toMatchObject({ count: 1 });
});

test("a failed poll is repeated", async () => {
  await control("/api/faults", { rule: "html-502@poll:2x" });
  await pictureOf(settings, "a red fox");
  expect(await control("/api/requests/verify", { fault: "html-502" })).toMatchObject({ count: 2 });
  expect(await control("/api/requests/verify", { method: "POST" })).toMatchObject({ count: 1 });
});
