// The journal of requests, with explanations of those that were rejected.

import { get } from "./api.js";
import { h, keyed, select, setText } from "./dom.js";
import { filters, offer, valuesOf } from "./filters.js";
import { clockTime, count, moment } from "./format.js";

const LIMIT = 200;

/** What a status code means, if the response does not say more. */
const EXPLANATIONS = {
  400: "The body could not be read, or the header x-simulator-fault is invalid.",
  402: "The credits of the organization or a spending limit of the project do not suffice.",
  403: "The key, its access to the endpoint, or the signature of the delivery URL is not valid.",
  404: "There is no such path, or the picture is no longer stored.",
  405: "The path does not take this method.",
  408: "The body did not arrive in time.",
  413: "The body is larger than max_body_bytes.",
  422: "The request violates the contract.",
  429: "The project has reached its maximum of active tasks.",
};

const isFine = ({ status, faults }) => status !== null && status < 400 && faults.length === 0;

/** Why a request got its response: faults, violations, fields without an effect. */
function notes({ status, faults, detail, violations, ignored_fields: ignored }) {
  const isRejected = faults.length === 0 && status >= 400;
  return [
    faults.length > 0 && `Faults: ${faults.join(", ")}`,
    status === null && "The connection ended without a response.",
    isRejected && violations.length === 0 && (detail ?? EXPLANATIONS[status]),
    ...violations.map(({ location, message }) => `${location}: ${message}`),
    ignored.length > 0 && `Ignored fields: ${ignored.join(", ")}`,
  ].filter(Boolean);
}

function facts({ organization, project, key, region, duration_ms: milliseconds }) {
  return [
    project && `project ${organization}/${project}`,
    key && `key ${key}`,
    region,
    `${milliseconds} ms`,
  ]
    .filter(Boolean)
    .join(", ");
}

function make(item) {
  const lines = notes(item);
  return h(
    "li",
    { class: "request" },
    h("time", { title: moment(item.time) }, clockTime(item.time)),
    h(
      "span",
      { class: "chip", "data-progress": isFine(item) ? "ready" : "failed" },
      String(item.status ?? "–"),
    ),
    h("code", { class: "call" }, `${item.method} ${item.path}`),
    item.task_id
      ? h("a", { class: "of", href: `#/tasks/${encodeURIComponent(item.task_id)}` }, "task")
      : null,
    h("p", { class: "note" }, facts(item)),
    lines.length > 0
      ? h(
          "ul",
          { class: "notes" },
          lines.map((line) => h("li", {}, line)),
        )
      : null,
  );
}

const choice = (name) => select({ name }, [["", "all"]], "");

function mount(root) {
  const fields = [
    ["Operation", choice("operation")],
    ["Status code", choice("status")],
    ["Project", choice("project")],
    ["Key", choice("key")],
    [
      "Path",
      h("input", { type: "search", name: "path", placeholder: "/v1/gen-2-*", autocomplete: "off" }),
    ],
  ];
  const seen = new Map();
  const total = h("p", { class: "total" });
  const none = h("p", { class: "none" });
  const list = h("ol", { class: "requests", "aria-label": "Requests, newest first" });
  root.append(
    h(
      "p",
      { class: "note" },
      "All requests to the service, and why they were rejected if they were. Keys are masked.",
    ),
    filters(fields, () => read(), total),
    none,
    list,
  );

  /** Offers the values of all requests that have been shown. */
  function offerSeen(requests) {
    for (const [, control] of fields.filter(([, field]) => field.matches("select"))) {
      const values = seen.get(control.name) ?? new Set();
      for (const request of requests) values.add(String(request[control.name] ?? ""));
      seen.set(control.name, values);
      offer(control, values);
    }
  }

  async function read() {
    const query = new URLSearchParams([["limit", LIMIT], ...valuesOf(fields)]);
    const { count: all, requests } = await get(`/api/requests?${query}`);
    offerSeen(requests);
    setText(total, `${count(requests.length)} of ${count(all)} requests shown`);
    setText(none, requests.length > 0 ? "" : "No requests.");
    none.hidden = requests.length > 0;
    const update = () => {};
    keyed(list, requests, ({ number }) => number, make, update);
  }
  return { read };
}

export const requests = { title: "Requests", parts: ["requests"], mount };
