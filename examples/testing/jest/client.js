// The program under test: a client in 25 lines.
async function pictureOf(prompt) {
  const { IMAGEKILN_BASE_URL: baseUrl, IMAGEKILN_API_KEY: key } = process.env;
  const submission = await fetch(`${baseUrl}/v1/gen-2-pro`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-key": key },
    body: JSON.stringify({ prompt, width: 64, height: 64 }),
  });
  if (!submission.ok) throw new Error(await submission.text());
  const task = await submission.json();
  for (;;) {
    const poll = await fetch(task.polling_url, { headers: { "x-key": key } });
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
