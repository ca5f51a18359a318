/* The enlarged picture. */

const dialog = find("#detail");
/** The index in `shown` of the picture that is enlarged. */
let current = -1;
const currentItem = () => items[shown[current]];

/** The URL of the picture's file. */
const fileOf = (item) => (isServed && item.id ? `picture/${item.id}` : item.link);

async function show(index) {
  current = index;
  const position = shown[index];
  if (!items[position]) await load(chunks.findLast(({ first }) => first <= position));
  const item = currentItem();
  const picture = find("#detail-picture");
  picture.hidden = !item.thumbnail;
  picture.alt = item.prompt ?? item.name;
  find("#detail-note").hidden = Boolean(item.thumbnail);
  find("#detail-note").textContent = item.thumbnail ? "" : item.note;
  picture.removeAttribute("src");
  if (item.thumbnail) enlarge(picture, item.thumbnail, ...item.size);
  if (fileOf(item)) loadFile(item, picture);
  find("#detail-text").replaceChildren(...describe(item));
  find("#detail-text").scrollTop = 0;
  dialog.dataset.state = item.state;
  find("#position").textContent = `${index + 1} of ${shown.length}`;
  find("#announcement").textContent = `${item.name}, ${item.state}`;
}

/** Shows an image in the size of the file, so that its place is the same for the thumbnail. */
function enlarge(picture, source, width, height) {
  picture.style.maxWidth = `${width}px`;
  picture.style.maxHeight = `${height}px`;
  picture.src = source;
}

/** Replaces the thumbnail with the file, if the browser can show it. */
function loadFile(item, picture) {
  const file = new Image();
  file.addEventListener("load", () => {
    if (currentItem() !== item) return;
    picture.hidden = false;
    find("#detail-note").hidden = true;
    enlarge(picture, file.src, file.naturalWidth, file.naturalHeight);
  });
  file.src = fileOf(item);
}

function element(tag, className, ...content) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...content);
  return made;
}

function action(text, run) {
  const button = element("button", "", text);
  button.type = "button";
  button.addEventListener("click", () => run(button));
  return button;
}

/** The facts, with those that are known only since the picture was read. */
function factsOf({ facts, size, sha256 }) {
  const read = { size: size?.join(" × "), sha256 };
  const further = Object.entries(read).filter(([name, value]) => {
    return value && !facts.some(([known]) => known === name);
  });
  return [...facts, ...further];
}

/** Everything that is known about an item. */
function describe(item) {
  const heading = element("h2", "");
  heading.id = "detail-headline";
  heading.dir = "auto";
  headline(item, heading);
  const paragraph = (name, text) => {
    const made = element("p", name, text);
    made.dir = "auto";
    return made;
  };
  const parts = [heading];
  if (item.prompt) parts.push(paragraph("name", item.name));
  parts.push(paragraph("state", item.state));
  if (item.reason) parts.push(paragraph("reason", item.reason));
  const rows = factsOf(item).map(([name, value]) =>
    element("div", "", element("dt", "", name), element("dd", "", value)),
  );
  parts.push(element("dl", "facts", ...rows), element("div", "actions", ...actions(item)));
  const commands = commandsOf(item).map((command) =>
    element("div", "command", element("code", "", command), copier(command)),
  );
  if (commands.length > 0) parts.push(element("div", "commands", ...commands));
  const text = element("div", "text", ...parts);
  return [text];
}

/** Shows the picture with this name among all of them. */
async function showNamed(name) {
  await Promise.all(chunks.map(load));
  const item = items.find((other) => other.name === name);
  if (!item) return;
  if (!shown.includes(item.position)) form.reset();
  await new Promise((resolve) => setTimeout(resolve));
  show(shown.indexOf(item.position));
}

function actions(item) {
  const made = [];
  if (fileOf(item)) {
    const link = element("a", "more", "Open the file");
    Object.assign(link, { href: fileOf(item), target: "_blank", rel: "noopener" });
    made.push(link);
  }
  for (const name of item.sources ?? [])
    made.push(action(`Made from ${name}`, () => showNamed(name)));
  if (item.group) {
    made.push(
      action(`All of ${item.group[1]}`, () => {
        dialog.close();
        showGroup(item.group);
      }),
    );
  }
  if (isServed && item.sha256) made.push(action(favouriteText(item), toggleFavourite));
  if (isServed && item.link) made.push(action("Delete the file…", () => ask(item)));
  return made;
}

/* Commands. */

function commandsOf({ argument }) {
  const commands = argument ? [`show ${argument}`, `again ${argument}`, `edit "" ${argument}`] : [];
  return commands.map((command) => `kiln ${command.replace('""', '"..."')}`);
}

function copier(command) {
  return action("Copy", async (button) => {
    try {
      await navigator.clipboard.writeText(command);
      button.textContent = "Copied";
      find("#announcement").textContent = `copied ${command}`;
    } catch {
      // A page without this right can still choose the text.
      getSelection().selectAllChildren(button.previousElementSibling);
    }
  });
}

/* What only a server can do. */

async function post(path, body) {
  const headers = { "content-type": "application/json" };
  const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

const favouriteText = (item) => (item.favourite ? "★ Favourite" : "☆ Mark as favourite");

async function toggleFavourite(button) {
  const item = currentItem();
  const { sha256 } = item;
  try {
    const { favourite } = await post("favourite", { sha256, favourite: !item.favourite });
    // Pictures with the same content share it.
    for (const same of items.filter((other) => other?.sha256 === sha256)) {
      same.favourite = favourite;
      refresh(same);
    }
    button.textContent = favouriteText(item);
  } catch (error) {
    find("#detail-text").prepend(element("p", "reason failed", error.message));
  }
}

const question = find("#question");

function ask(item) {
  find("#question-text").textContent =
    `Delete the file of ${item.name}? What is known about the picture stays in the history.`;
  question.showModal();
}

find("#keep").addEventListener("click", () => question.close());
find("#delete").addEventListener("click", async () => {
  const item = currentItem();
  question.close();
  try {
    Object.assign(item, await post("delete", { id: item.id, sha256: item.sha256 }));
    item.link = undefined;
    item.id = undefined;
    refresh(item);
    await show(current);
  } catch (error) {
    find("#detail-text").prepend(element("p", "reason failed", error.message));
  }
});

/* The dialog. */

const step = (by) => show((current + by + shown.length) % shown.length);

list.addEventListener("click", (event) => {
  const card = event.target.closest("button")?.closest(".job:not(.loading)");
  if (!card) return;
  show(Number(card.dataset.index));
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
  const index = current;
  current = -1;
  focusCard(index);
});
