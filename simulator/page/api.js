// The control interface, as programs use it too.

const ACTING = "acting-user";

/** Who changes things: a member of an organization, or nobody for the simulator's operator. */
export const actingUser = {
  get: () => sessionStorage.getItem(ACTING) ?? "",
  set: (user) => sessionStorage.setItem(ACTING, user),
};

async function answer(response) {
  const body = await response.json().catch(() => null);
  if (response.ok) return body;
  const detail = typeof body?.detail === "string" ? body.detail : `HTTP ${response.status}`;
  throw Object.assign(new Error(detail), { status: response.status });
}

export async function get(path) {
  return answer(await fetch(path));
}

export async function send(method, path, body = {}) {
  const headers = { "content-type": "application/json" };
  if (actingUser.get()) headers["x-acting-user"] = actingUser.get();
  return answer(await fetch(path, { method, headers, body: JSON.stringify(body) }));
}

const trouble = document.getElementById("trouble");
let hiding;

/** Says what did not work, for a while. */
export function complain(error) {
  trouble.textContent = error.message;
  trouble.hidden = false;
  clearTimeout(hiding);
  hiding = setTimeout(() => { trouble.hidden = true; }, 8000);
}

/** A listener that does `work` and says what did not work. */
export function attempt(work) {
  return async (event) => {
    event?.preventDefault();
    try {
      await work(event);
    } catch (error) {
      complain(error);
    }
  };
}
