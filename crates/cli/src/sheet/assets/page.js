// Filters, sorts and enlarges the jobs. The page contains all text, and the script moves and copies
// it without parsing it again.
"use strict";

const find = (selector, within = document) => within.querySelector(selector);
const list = find("#jobs");
const form = find("#controls");
const dialog = find("#detail");

const jobs = [...list.children].map((card, order) => ({
  card,
  order,
  button: find("button", card),
  state: card.dataset.state,
  model: card.dataset.model,
  credits: card.dataset.credits === "" ? null : Number(card.dataset.credits),
  prompt: find(".prompt", card)?.textContent ?? "",
  text: card.textContent.toLowerCase(),
}));

// The summary is written last, because the totals are known only then.
find("#top").append(find("#totals"));
find("main").before(form);
form.hidden = false;

/* Filters and sorting. */

const states = [...form.elements.state].map((choice) => choice.value);
const { compare } = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
const orders = {
  credits: (a, b) => (b.credits ?? -1) - (a.credits ?? -1),
  model: (a, b) => compare(a.model, b.model),
  state: (a, b) => states.indexOf(a.state) - states.indexOf(b.state),
  prompt: (a, b) => compare(a.prompt, b.prompt),
};

/** The jobs in the order of the page. */
let sorted = jobs;
let sortedBy = "";
/** The jobs that match the filters. */
let shown = jobs;

function apply() {
  const chosen = new FormData(form);
  const words = chosen.get("text").toLowerCase().split(/\s+/);
  const has = (value, choice) => choice === "" || value === choice;
  sort(chosen.get("sort"));
  shown = sorted.filter(
    (job) =>
      has(job.state, chosen.get("state")) &&
      has(job.model, chosen.get("model")) &&
      words.every((word) => job.text.includes(word)),
  );
  const kept = new Set(shown);
  for (const job of jobs) job.card.hidden = !kept.has(job);
  find("#none").hidden = shown.length > 0;
  const credits = shown.reduce((sum, job) => sum + (job.credits ?? 0), 0);
  find("#count").textContent =
    `${shown.length} of ${jobs.length} jobs, ${credits.toFixed(2)} credits`;
}

function sort(by) {
  if (by === sortedBy) return;
  sortedBy = by;
  // Equal jobs keep the order of the batch.
  sorted = by === "" ? jobs : jobs.toSorted(orders[by]);
  list.replaceChildren(...sorted.map((job) => job.card));
}

form.addEventListener("input", apply);
// The fields have their initial values only after the event.
form.addEventListener("reset", () => setTimeout(apply));
form.addEventListener("submit", (event) => event.preventDefault());
// A browser may restore the fields after a reload.
apply();

/* Enlarging. */

let current = null;

function show(job) {
  current = job;
  const picture = find("#detail-picture");
  const thumbnail = find("img", job.card);
  const link = find("a", job.card);
  picture.hidden = !thumbnail;
  picture.alt = job.prompt;
  find("#detail-note").hidden = Boolean(thumbnail);
  find("#detail-note").textContent = thumbnail ? "" : job.button.textContent;
  if (thumbnail) {
    const [width, height] = ["width", "height"].map((name) => thumbnail.getAttribute(name));
    draw(picture, thumbnail.src, width, height);
  }
  if (link) load(job, picture, link.href);
  const text = find(".text", job.card).cloneNode(true);
  find("h2", text).id = "detail-headline";
  find("#detail-text").replaceChildren(text);
  dialog.dataset.state = job.state;
  find("#position").textContent = `${shown.indexOf(job) + 1} of ${shown.length}`;
  find("#announcement").textContent = `${find(".name", text).textContent}, ${job.state}`;
}

/** Shows an image in the size of the file, so that its place is the same for the thumbnail. */
function draw(picture, source, width, height) {
  picture.style.maxWidth = `${width}px`;
  picture.style.maxHeight = `${height}px`;
  picture.src = source;
}

/** Replaces the thumbnail with the file beside the sheet, if the browser can show it. */
function load(job, picture, source) {
  const file = new Image();
  file.addEventListener("load", () => {
    if (current !== job) return;
    picture.hidden = false;
    find("#detail-note").hidden = true;
    draw(picture, source, file.naturalWidth, file.naturalHeight);
  });
  file.src = source;
}

function step(by) {
  const next = (shown.indexOf(current) + by + shown.length) % shown.length;
  show(shown[next]);
}

list.addEventListener("click", (event) => {
  const card = event.target.closest("button")?.closest(".job");
  if (!card) return;
  show(jobs.find((job) => job.card === card));
  dialog.showModal();
});
find("#previous").addEventListener("click", () => step(-1));
find("#next").addEventListener("click", () => step(1));
find("#close").addEventListener("click", () => dialog.close());
dialog.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  if (event.key === "ArrowLeft") step(-1);
  if (event.key === "ArrowRight") step(1);
});
dialog.addEventListener("close", () => {
  current.button.focus();
  current = null;
});
