// The contract, in Swagger UI. It is large, so it is loaded when this section is opened.

import { get, showError } from "./api.js";
import { findKey } from "./service.js";
import { html, Loading } from "./ui.js";
import { useEffect, useRef, useState } from "./vendor/hooks.js";
import { layout, watch } from "./viewer.js";

const element = (tag, properties) => Object.assign(document.createElement(tag), properties);

function load() {
  const href = "/swagger-ui/swagger-ui.css";
  // Before our own style sheets, which override the viewer's rules for the page.
  document.head.prepend(element("link", { rel: "stylesheet", href }));
  return new Promise((resolve, reject) => {
    const missing =
      "Could not load Swagger UI. If kiln was compiled without it, use its feature `viewer`.";
    const onerror = () => reject(new Error(missing));
    const src = "/swagger-ui/swagger-ui-bundle.js";
    document.head.append(element("script", { src, onload: resolve, onerror }));
  });
}

/** Makes the viewer follow the system's colour scheme, for which it has its own class. */
function followColours() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
  dark.addEventListener("change", apply);
  apply();
}

async function view(node) {
  await load();
  followColours();
  watch(node);
  const { base_url, regional_base_url } = await get("/api/state");
  // Requests are forwarded by this port, because the service does not allow other origins. The
  // viewer shows the URLs that a program would use.
  const routes = [
    [base_url, "/try/global"],
    [regional_base_url, "/try/regional"],
  ];
  const rewrite = (url, from, to) => {
    const route = routes.find((route) => url.startsWith(`${route[from]}/`));
    return route ? route[to] + url.slice(route[from].length) : url;
  };
  const origin = location.origin;
  let isOffered = false;
  /** Reading the documentation reveals no key; the first request without one does. */
  async function withKey(request) {
    const isForService = rewrite(request.url, 0, 1) !== request.url;
    if (!isForService || isOffered || request.headers["x-key"]) return request;
    isOffered = true;
    const key = await findKey();
    if (!key) return request;
    viewer.preauthorizeApiKey("ApiKey", key);
    return { ...request, headers: { ...request.headers, "x-key": key } };
  }
  const viewer = window.SwaggerUIBundle({
    url: "/api/openapi.json",
    domNode: node,
    presets: [window.SwaggerUIBundle.presets.apis],
    plugins: [layout],
    layout: "PageLayout",
    syntaxHighlight: { activated: false },
    docExpansion: "list",
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    tryItOutEnabled: true,
    validatorUrl: null,
    // The URL stays that of the service, so that the displayed command can be copied.
    requestInterceptor: async (request) => ({
      ...(await withKey(request)),
      userFetch: (url, options) => fetch(rewrite(url, 0, 1), options),
    }),
    responseInterceptor: (response) => {
      const path = response.url?.startsWith(origin)
        ? response.url.slice(origin.length)
        : response.url;
      return Object.assign(response, { url: rewrite(path ?? "", 1, 0) });
    },
  });
}

export function Docs() {
  const node = useRef(null);
  const [isLoading, setLoading] = useState(true);
  useEffect(() => {
    view(node.current)
      .catch(showError)
      .finally(() => setLoading(false));
  }, []);
  return html`
    ${isLoading && html`<${Loading} />`}
    <div class="viewer" ref=${node} />
  `;
}
