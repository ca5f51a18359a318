/* Comparing. */

const MOST = 4;
/** The width of the part of a slider that moves, in pixels. */
const THUMB = 16;
const comparison = find("#comparison");
const split = find("#split");
const slide = find("#slide input");
/** The items to compare, in the order in which they were chosen. */
const selected = new Set();

function choose(item, isChosen) {
  if (isChosen) selected.add(item);
  else selected.delete(item);
  if (selected.size > MOST) {
    const [oldest] = selected;
    selected.delete(oldest);
    refresh(oldest);
  }
  refresh(item);
  const bar = find("#selection");
  bar.hidden = selected.size === 0;
  find("output", bar).textContent = `${selected.size} of ${MOST} chosen`;
  find("#compare").disabled = selected.size < 2;
}

list.addEventListener("change", (event) => {
  const item = items[shown[Number(event.target.closest("li").dataset.index)]];
  choose(item, event.target.checked);
});
find("#clear").addEventListener("click", () => {
  for (const item of [...selected]) choose(item, false);
  focusCard(reached);
});
find("#compare").addEventListener("click", () => {
  const chosen = [...selected];
  const sizes = new Set(chosen.map(({ size }) => String(size)));
  find("#slide").hidden = chosen.length !== 2 || sizes.size > 1;
  slide.checked = !find("#slide").hidden;
  split.value = 50;
  find("#pictures").replaceChildren(...chosen.map(figure));
  find("#pictures").dataset.count = chosen.length;
  find("#differences").replaceChildren(differences(chosen));
  comparison.showModal();
  arrange();
});

function figure(item) {
  const image = element("img", "");
  image.alt = item.prompt ?? item.name;
  [image.width, image.height] = item.size;
  image.src = item.thumbnail;
  const file = new Image();
  file.addEventListener("load", () => {
    image.src = file.src;
  });
  if (fileOf(item)) file.src = fileOf(item);
  return element("figure", "", image, element("figcaption", "", item.name));
}

/** Facts that are always different, and say nothing about how the pictures were made. */
const OWN = [
  "job",
  "path",
  "output",
  "bytes",
  "sha256",
  "id",
  "key",
  "submitted",
  "accepted",
  "ready",
];

/** The facts in which the items differ, in a table with a column for each item. */
function differences(chosen) {
  const facts = chosen.map((item) => {
    const { state, prompt, favourite } = item;
    const own = [
      ["prompt", prompt ?? ""],
      ["state", state],
      ["favourite", favourite ? "★" : ""],
    ];
    return new Map([...own, ...factsOf(item)]);
  });
  const names = new Set(facts.flatMap((known) => [...known.keys()])).difference(new Set(OWN));
  const rows = [...names].flatMap((name) => {
    const values = facts.map((known) => known.get(name) ?? "");
    if (values.every((value) => value === values[0])) return [];
    const heading = element("th", "", name);
    heading.scope = "row";
    return [element("tr", "", heading, ...values.map((value) => element("td", "", value)))];
  });
  if (rows.length === 0) return element("p", "", "Nothing that is known differs.");
  const heads = ["", ...chosen.map(({ name }) => name)].map((name) => {
    const head = element(name ? "th" : "td", "", name);
    if (name) head.scope = "col";
    return head;
  });
  const head = element("thead", "", element("tr", "", ...heads));
  return element("table", "", head, element("tbody", "", ...rows));
}

function arrange() {
  comparison.classList.toggle("slides", slide.checked);
  split.hidden = !slide.checked;
  comparison.style.setProperty("--split", `${split.value}%`);
  // The slider is where the edge between the pictures is.
  split.style.width = `${find("#pictures img").offsetWidth + THUMB}px`;
}

/** Moves the slider to the pointer. */
function drag(event) {
  if (!slide.checked || event.buttons !== 1) return;
  event.preventDefault();
  const { left, width } = find("#pictures img").getBoundingClientRect();
  split.value = ((event.clientX - left) / width) * 100;
  arrange();
}

addEventListener("resize", () => comparison.open && arrange());
slide.addEventListener("change", arrange);
split.addEventListener("input", arrange);
for (const kind of ["pointerdown", "pointermove"]) {
  find("#pictures").addEventListener(kind, drag);
}
find("#leave").addEventListener("click", () => comparison.close());

// A browser may restore the fields after a reload.
apply();
