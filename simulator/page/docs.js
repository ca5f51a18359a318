// The contract, in Swagger UI. It is large, so it is loaded when someone opens this section.

import { complain, get, send } from "./api.js";
import { h } from "./dom.js";

function load() {
  const style = h("link", { rel: "stylesheet", href: "/swagger-ui/swagger-ui.css" });
  // Before our own sheets, which set right what the viewer's says of the whole page.
  document.head.prepend(style);
  return new Promise((resolve, reject) => {
    document.head.append(h("script", { src: "/swagger-ui/swagger-ui-bundle.js", load: resolve,
      error: () => reject(new Error("The documentation's viewer could not be loaded")) }));
  });
}

/** Has the viewer follow the system's colours, for which it has a class of its own. */
function followColours() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
  dark.addEventListener("change", apply);
  apply();
}

/** The key that requests are tried with until someone gives another: one of the organization Default, if it has any. */
async function firstKey() {
  const { organizations } = await get("/api/organizations");
  const isDefault = ({ id }) => id === "default";
  const sorted = [...organizations.filter(isDefault), ...organizations.filter((one) => !isDefault(one))];
  const first = sorted.flatMap(({ projects }) => projects.flatMap(({ keys }) => keys))[0];
  if (!first) return null;
  try {
    return (await send("POST", `/api/keys/${encodeURIComponent(first.id)}/reveal`)).key;
  } catch (error) {
    // Whoever acts may not see keys; the documentation is to be read all the same.
    if (error.status === 403) return null;
    throw error;
  }
}

async function view(node) {
  await load();
  followColours();
  const { base_url, regional_base_url } = await get("/api/state");
  // Requests reach the service through this port, since another page's origin is none of its
  // business. What is shown is what a program would send.
  const ways = [[base_url, "/try/global"], [regional_base_url, "/try/regional"]];
  const turn = (url, from, to) => {
    const way = ways.find((way) => url.startsWith(`${way[from]}/`));
    return way ? way[to] + url.slice(way[from].length) : url;
  };
  const origin = location.origin;
  const key = await firstKey();
  const viewer = window.SwaggerUIBundle({
    onComplete: () => { if (key) viewer.preauthorizeApiKey("ApiKey", key); },
    url: "/api/openapi.json",
    domNode: node,
    presets: [window.SwaggerUIBundle.presets.apis],
    layout: "BaseLayout",
    docExpansion: "list",
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    tryItOutEnabled: true,
    validatorUrl: null,
    showMutatedRequest: false,
    requestInterceptor: (request) => ({ ...request, url: turn(request.url, 0, 1) }),
    responseInterceptor: (response) => {
      const path = response.url?.startsWith(origin) ? response.url.slice(origin.length) : response.url;
      return Object.assign(response, { url: turn(path ?? "", 1, 0) });
    },
  });
}

function mount(root) {
  const node = h("div", { class: "viewer" }, h("p", { class: "none" }, "Loading the contract."));
  root.append(node);
  view(node).catch(complain);
  return { read: async () => {} };
}

export const docs = { title: "Documentation", parts: [], mount };
