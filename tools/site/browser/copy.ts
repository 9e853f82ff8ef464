/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/** The buttons that copy a block of code. */

const COPIED_MS = 2000;

/** Adds a button to each block. Browsers allow copying only in a secure context. */
export function addCopyButtons(): void {
  for (const pre of document.querySelectorAll("pre")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      button.textContent = await navigator.clipboard.writeText(pre.textContent ?? "").then(
        () => "Copied",
        () => "Not copied",
      );
      setTimeout(() => {
        button.textContent = "Copy";
      }, COPIED_MS);
    });
    button.setAttribute("aria-live", "polite");
    const block = document.createElement("div");
    block.className = "block";
    pre.replaceWith(block);
    block.append(pre, button);
  }
}
