// What tests know about the simulator. They reset it before each test.
const settings = JSON.parse(process.env.SIMULATOR);

/** Posts to the control port, which takes no key. */
async function control(path, body) {
  const response = await fetch(settings.control_url + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

module.exports = { settings, control };
