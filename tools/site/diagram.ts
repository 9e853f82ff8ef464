/** Where the drawing of a diagram is. */
import { createHash } from "node:crypto";

/** A diagram in Markdown. */
export const DIAGRAM = /^```mermaid\n([\s\S]*?)^```/gm;

/** The file with the drawing of a diagram in Mermaid, which has another name once the diagram has changed. */
export const diagramFile = (source: string): string =>
  `docs/pictures/${createHash("sha256").update(source).digest("hex").slice(0, 12)}.svg`;
