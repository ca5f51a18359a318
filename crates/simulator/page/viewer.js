// What the documentation viewer lacks: a layout within our page, and names for screen readers.

const NAMES = [
  ["textarea.body-param__text", "Request body"],
  [".servers select", "Server"],
  [".content-type-wrapper select, .content-type", "Media type"],
  ["table.responses-table", "Responses"],
  ["table.live-responses-table", "Response of the server"],
];

/** The viewer's layout without its `<main>` and its server: the page has both. */
export const layout = ({ React }) => ({
  components: {
    PageLayout: ({ getComponent }) => {
      const wrapped = (name) =>
        React.createElement(
          "div",
          { key: name, className: "wrapper" },
          React.createElement(getComponent(name, true)),
        );
      return React.createElement(
        "div",
        { className: "swagger-ui" },
        React.createElement(getComponent("SvgAssets")),
        ["errors", "InfoContainer", "AuthorizeBtnContainer", "operations", "Models"].map(wrapped),
      );
    },
  },
});

/** Names an element after what it is and the operation that it belongs to. */
function name(element, text) {
  if (element.hasAttribute("aria-label")) return;
  const operation = element.closest(".opblock")?.querySelector(".opblock-summary-path");
  const code = element.closest(".response")?.dataset.code;
  const parts = [text, operation?.textContent.replaceAll("\u200b", ""), code].filter(Boolean);
  element.setAttribute("aria-label", parts.join(" of "));
}

function improve(viewer) {
  for (const [selector, text] of NAMES) {
    for (const element of viewer.querySelectorAll(selector)) name(element, text);
  }
  // The page's headings are above those of the viewer.
  viewer.querySelector(".info h1.title, .info h2.title")?.setAttribute("aria-level", "3");
  for (const heading of viewer.querySelectorAll("h3.opblock-tag")) {
    heading.setAttribute("aria-level", "4");
  }
  for (const heading of viewer.querySelectorAll(".opblock-body :is(h4, h5)")) {
    heading.setAttribute("aria-level", "5");
  }
  for (const code of viewer.querySelectorAll(".opblock-body pre:not([tabindex])")) {
    code.tabIndex = 0;
  }
}

/** Improves what the viewer shows, now and whenever it changes. */
export function watch(viewer) {
  let isDue = false;
  const observer = new MutationObserver(() => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => {
      isDue = false;
      improve(viewer);
    });
  });
  observer.observe(viewer, { childList: true, subtree: true });
}
