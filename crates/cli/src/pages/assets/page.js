// Filters, sorts and shows the pictures. Only those on the screen are in the document. The data is
// loaded when it is needed, and its text is never parsed as markup.
"use strict";

const find = (selector, within = document) => within.querySelector(selector);
const list = find("#jobs");
const form = find("#controls");
const { noun } = document.body.dataset;
const isServed = "served" in document.body.dataset;

// The summary is written last, because the totals are known only then.
find("#top").append(find("#totals"));
find("main").before(form);
form.hidden = false;

/* The data. */

/** The parts of the data, with the position of their first item. */
const chunks = [];
let total = 0;
for (const script of document.querySelectorAll("script[data-count]")) {
  const count = Number(script.dataset.count);
  chunks.push({ script, first: total, count, loaded: null });
  total += count;
}
/** The items that are loaded, at their positions. */
const items = new Array(total);

if (total === 0) find("#none").textContent = `There are no ${noun}s yet.`;

/** Takes the items of a chunk. A script beside the page calls it, too. */
function receive(index, loaded) {
  const { first } = chunks[index];
  for (const [offset, item] of loaded.entries()) {
    const { name, prompt, state, reason, group, facts } = item;
    const texts = [name, prompt, state, reason, group?.[1], day(item.time), ...facts.flat()];
    item.position = first + offset;
    item.text = texts.join(" ").toLowerCase();
    items[item.position] = item;
  }
}

/** Loads a chunk once. One in the page is loaded at once. */
function load(chunk) {
  const { source } = chunk.script.dataset;
  if (!source && !chunk.loaded) {
    receive(chunks.indexOf(chunk), JSON.parse(chunk.script.textContent));
    chunk.script.textContent = "";
    chunk.loaded = Promise.resolve();
  }
  chunk.loaded ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.addEventListener("load", resolve);
    script.addEventListener("error", () => reject(new Error(`could not load ${source}`)));
    script.src = source;
    document.head.append(script);
  });
  return chunk.loaded;
}

/** The day of a time as the date fields write it, in the zone of the browser. */
function day(seconds) {
  if (seconds === undefined) return "";
  const at = new Date(seconds * 1000);
  const parts = [at.getFullYear(), at.getMonth() + 1, at.getDate()];
  return parts.map((part) => String(part).padStart(2, "0")).join("-");
}

/* Filters and sorting. */

const states = [...form.elements.state].map((choice) => choice.value);
const { compare } = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
const orders = {
  credits: (a, b) => (b.credits ?? -1) - (a.credits ?? -1),
  model: (a, b) => compare(a.model, b.model),
  state: (a, b) => states.indexOf(a.state) - states.indexOf(b.state),
  prompt: (a, b) => compare(a.prompt ?? "", b.prompt ?? ""),
};
const everything = Array.from(items, (_, position) => position);
/** The positions of what matches the filters, in the order of the page. */
let shown = everything;
/** The group whose items are shown, as `[id, name]`. */
let chosenGroup = null;
let applied = 0;

/** The condition that an item must meet, or `null` if there is none. */
function condition(chosen) {
  const words = chosen.get("text").toLowerCase().split(/\s+/).filter(Boolean);
  const [since, until, least, most] = ["since", "until", "least", "most"].map((name) =>
    chosen.get(name),
  );
  const conditions = [
    words.length > 0 && ((item) => words.every((word) => item.text.includes(word))),
    ...["model", "state"].map(
      (name) => chosen.get(name) !== "" && ((item) => item[name] === chosen.get(name)),
    ),
    since && ((item) => day(item.time) >= since),
    until && ((item) => day(item.time) <= until),
    least && ((item) => item.credits >= Number(least)),
    most && ((item) => item.credits <= Number(most)),
    chosen.get("favourite") && ((item) => item.favourite),
    chosenGroup && chosen.get("group") && ((item) => item.group?.[0] === chosenGroup[0]),
  ].filter(Boolean);
  return conditions.length > 0 ? (item) => conditions.every((holds) => holds(item)) : null;
}

async function apply() {
  applied += 1;
  const own = applied;
  const chosen = new FormData(form);
  const [matches, order] = [condition(chosen), orders[chosen.get("sort")]];
  find("#group").hidden = !(chosenGroup && chosen.get("group"));
  const count = find("#count");
  let credits = Number(count.dataset.credits);
  if (matches || order) {
    for (const chunk of chunks.filter(({ first }) => !items[first])) {
      const loading = load(chunk);
      if (items[chunk.first]) continue;
      count.textContent = `searching: ${chunk.first} of ${total}`;
      await loading;
      if (own !== applied) return;
    }
    let found = matches ? items.filter(matches) : items;
    if (order) found = found.toSorted(order);
    shown = found.map((item) => item.position);
    credits = found.reduce((sum, item) => sum + (item.credits ?? 0), 0);
  } else {
    shown = everything;
  }
  find("#none").hidden = shown.length > 0;
  count.textContent = `${shown.length} of ${total} ${noun}s, ${credits.toFixed(2)} credits`;
  for (const card of cards.values()) card.remove();
  cards.clear();
  draw();
}

form.addEventListener("input", apply);
// The fields have their initial values only after the event.
form.addEventListener("reset", () => setTimeout(apply));
form.addEventListener("submit", (event) => event.preventDefault());

function showGroup(group) {
  form.reset();
  chosenGroup = group;
  find("#group span").textContent = group[1];
  form.elements.group.checked = true;
}

/* The cards on the screen. */

/** The cards in the document, by the indices of their items in `shown`. */
const cards = new Map();
/** The index of the card that the Tab key reaches. */
let reached = 0;
let columns = 1;
let row = 340;

function measure() {
  const { gridTemplateColumns, rowGap } = getComputedStyle(list);
  columns = gridTemplateColumns.split(" ").length;
  const card = find(".job", list);
  if (card) row = card.offsetHeight + Number.parseFloat(rowGap);
}

function draw() {
  measure();
  const rows = Math.ceil(shown.length / columns);
  const above = Math.max(0, -list.getBoundingClientRect().top);
  const first = Math.max(0, Math.min(Math.floor(above / row) - 1, rows - 1));
  const last = Math.min(rows, first + Math.ceil(innerHeight / row) + 3);
  list.style.paddingTop = `${first * row}px`;
  list.style.paddingBottom = `${(rows - last) * row}px`;
  const [from, to] = [first * columns, Math.min(last * columns, shown.length)];
  for (const [index, card] of cards) {
    if (index >= from && index < to) continue;
    card.remove();
    cards.delete(index);
  }
  if (reached < from || reached >= to) reached = from;
  let before = null;
  for (let index = from; index < to; index += 1) {
    const card = cardOf(index);
    // A card that stays where it is keeps the focus.
    const next = before ? before.nextElementSibling : list.firstElementChild;
    if (next !== card) list.insertBefore(card, next);
    before = card;
  }
  reach(reached);
  // The first cards say how high all of them are.
  const estimated = row;
  measure();
  if (row !== estimated) draw();
}

function cardOf(index) {
  const known = cards.get(index);
  if (known) return known;
  const item = items[shown[index]];
  if (!item) {
    const chunk = chunks.findLast(({ first }) => first <= shown[index]);
    load(chunk).then(redraw, (error) => {
      find("#count").textContent = error.message;
    });
    if (items[shown[index]]) return cardOf(index);
  }
  const card = find("#card").content.firstElementChild.cloneNode(true);
  card.dataset.index = index;
  card.ariaPosInSet = index + 1;
  card.ariaSetSize = shown.length;
  if (item) fill(card, item);
  else card.classList.add("loading");
  cards.set(index, card);
  return card;
}

function redraw() {
  for (const [index, card] of cards) {
    if (!card.classList.contains("loading") || !items[shown[index]]) continue;
    card.remove();
    cards.delete(index);
  }
  draw();
}

/** The headline of a picture: its prompt, or else its name. */
function headline(item, heading) {
  heading.className = item.prompt ? "prompt" : "name";
  heading.textContent = item.prompt ?? item.name;
}

function fill(card, item) {
  card.dataset.state = item.state;
  const image = find("img", card);
  image.hidden = !item.thumbnail;
  if (item.thumbnail) {
    image.src = item.thumbnail;
    [image.width, image.height] = item.size;
  } else {
    find(".frame span", card).textContent = item.note ?? "";
  }
  // What is written on the button is part of its name.
  const note = item.thumbnail ? undefined : item.note;
  find(".frame", card).ariaLabel = [`Show ${item.name}`, note].filter(Boolean).join(", ");
  find(".pick span", card).textContent = `Compare ${item.name}`;
  find(".pick", card).hidden = !item.thumbnail;
  find(".pick input", card).checked = selected.has(item);
  find(".star", card).hidden = !item.favourite;
  headline(item, find("h2", card));
  find(".text > p", card).textContent = item.prompt ? item.name : "";
  find(".state", card).textContent = item.state;
  const credits = item.credits === undefined ? "" : `${item.credits.toFixed(2)} credits`;
  const brief = [item.model, credits, day(item.time)].filter(Boolean).join(" · ");
  find(".brief", card).textContent = item.reason ?? brief;
  find(".brief", card).classList.toggle("reason", Boolean(item.reason));
}

/** Makes a card the one that the Tab key reaches. */
function reach(index) {
  for (const control of list.querySelectorAll('[tabindex="0"]')) control.tabIndex = -1;
  reached = index;
  const card = cards.get(index);
  for (const control of card?.querySelectorAll("button, input") ?? []) control.tabIndex = 0;
}

/** Moves the focus to a card, which may not be on the screen. */
function focusCard(index) {
  const at = Math.max(0, Math.min(index, shown.length - 1));
  const top = list.getBoundingClientRect().top + Math.floor(at / columns) * row;
  const covered = getComputedStyle(form).position === "sticky" ? form.offsetHeight : 0;
  if (top < covered) scrollBy(0, top - covered - 12);
  else if (top + row > innerHeight) scrollBy(0, top + row - innerHeight);
  draw();
  reach(at);
  find("button", cards.get(at))?.focus({ preventScroll: true });
}

/** Shows what changed about an item. */
function refresh(item) {
  for (const [index, card] of cards) if (shown[index] === item.position) fill(card, item);
}

list.addEventListener("focusin", (event) =>
  reach(Number(event.target.closest("li").dataset.index)),
);
list.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns };
  const ends = { Home: 0, End: shown.length - 1 };
  const index = ends[event.key] ?? reached + steps[event.key];
  if (Number.isNaN(index)) return;
  event.preventDefault();
  if (index >= 0 && index < shown.length) focusCard(index);
});
document.addEventListener("keydown", (event) => {
  const types = event.target.closest("input:not([type=checkbox], [type=radio]), select, dialog");
  if (event.key !== "/" || event.ctrlKey || event.metaKey || types) return;
  event.preventDefault();
  form.elements.text.focus();
  form.elements.text.select();
});

addEventListener("scroll", draw, { passive: true });
addEventListener("resize", draw);
