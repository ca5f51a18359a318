// The program under test: a client in 25 lines.
async function pictureOf({ base_url, api_key }, prompt) {
  const submission = await fetch(`${base_url}/v1/gen-2-pro`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-key": api_key },
    body: JSON.stringify({ prompt, width: 64, height: 64 }),
  });
  if (!submission.ok) throw new Error(await submission.text());
  const task = await submission.json();
  for (;;) {
    const poll = await fetch(task.polling_url, { headers: { "x-key": api_key } });
    if (poll.status >= 500) continue;
    if (!poll.ok) throw new Error(await poll.text());
    const { status, result } = await poll.json();
    if (status === "Ready") {
      const picture = await fetch(result.sample);
      return new Uint8Array(await picture.arrayBuffer());
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

module.exports = { pictureOf };
