/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/** The search over the titles and headings of all pages. Its index is a script, because the pages may load nothing else. */
import type { EntryGroup } from "../entries.ts";

const HITS_MAX = 20;
const INDEX = "/docs/search-index.js";

type Hit = { href: string; title: string; group: string; text: string };

const fold = (text: string): string => text.normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase();

const hitsOf = ({ groups }: { groups: EntryGroup[] }): Hit[] =>
  groups.flatMap(({ href, title: group, entries }) => [
    { href, title: group, group: "", text: fold(group) },
    ...entries.map(({ href: place, title, detail }) => {
      return { href: place, title, group, text: fold(`${title} ${detail} ${group}`) };
    }),
  ]);

/** The index, loaded when somebody first searches. */
let loaded: Promise<Hit[]> | undefined;
const load = (): Promise<Hit[]> => {
  loaded ??= import(INDEX).then(hitsOf);
  // The network may be back at the next search.
  loaded.catch(() => {
    loaded = undefined;
  });
  return loaded;
};

/** The hits that have every word, those whose own title begins with the text first. */
function find(hits: readonly Hit[], text: string): Hit[] {
  const words = fold(text).split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const rankOf = ({ title, group }: Hit) => {
    const own = fold(title);
    if (own.startsWith(words.join(" "))) return group === "" ? 0 : 1;
    return words.every((word) => own.includes(word)) ? 2 : 3;
  };
  return hits
    .filter((hit) => words.every((word) => hit.text.includes(word)))
    .toSorted((one, other) => rankOf(one) - rankOf(other));
}

function element<Name extends keyof HTMLElementTagNameMap>(name: Name, attributes: Record<string, string>, text = "") {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

function itemOf({ href, title, group }: Hit): HTMLLIElement {
  const link = element("a", { href }, title);
  if (group !== "") link.append(" ", element("small", {}, group));
  const item = element("li", {});
  item.append(link);
  return item;
}

/** Adds the search to the bar of the page. `/` leads to it, arrows to its hits, and Escape out of it. */
export function addSearch(): void {
  const form = element("form", { role: "search", class: "search" });
  const box = element("input", {
    type: "search",
    "aria-label": "Search the pages",
    placeholder: "Search",
    autocomplete: "off",
  });
  const count = element("p", { role: "status" });
  const list = element("ul", {});
  const found = element("div", { class: "found", hidden: "" });
  found.append(count, list);
  form.append(box, found);
  document.querySelector(".bar .tabs")?.before(form);

  const show = async () => {
    const hits = find(await load(), box.value);
    found.hidden = box.value.trim() === "";
    count.textContent = hits.length > HITS_MAX ? `The first ${HITS_MAX} of ${hits.length}` : `${hits.length} found`;
    list.replaceChildren(...hits.slice(0, HITS_MAX).map(itemOf));
  };
  box.addEventListener("input", show);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    await show();
    list.querySelector("a")?.click();
  });
  form.addEventListener("keydown", (event) => {
    const places = [box, ...list.querySelectorAll("a")];
    const at = places.indexOf(document.activeElement as HTMLAnchorElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") {
      box.value = "";
      found.hidden = true;
      box.focus();
    } else if (step !== undefined) {
      event.preventDefault();
      places[Math.min(Math.max(at + step, 0), places.length - 1)]?.focus();
    }
  });
  // Safari gives a link no focus when it is clicked, so a lost focus alone hides nothing.
  for (const left of ["focusin", "click"])
    document.addEventListener(left, ({ target }) => {
      if (!(target instanceof Node && form.contains(target))) found.hidden = true;
    });
  box.addEventListener("focus", show);
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target instanceof Element && event.target.closest("input, textarea, select");
    if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    box.focus();
  });
}
