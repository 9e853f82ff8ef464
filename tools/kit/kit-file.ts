import { createHash } from "node:crypto";

/** A file of the kit, and the lines to copy, in which the service is http://localhost:8787. */
export type KitFile = { name: string; content: Buffer; title: string; lines: string };

/** The version of the kit, as npm and as Python write it (PEP 440). */
export type KitVersion = { npm: string; python: string };

/** Makes a file for a version. The same version and the same sources give the same bytes. */
export type KitPart = (version: KitVersion) => KitFile;

/** The hashes of a file: for pip and sha256sum, and for `integrity` (Subresource Integrity). */
export const hashesOf = (content: Buffer): { sha256: string; integrity: string } => ({
  sha256: createHash("sha256").update(content).digest("hex"),
  integrity: `sha384-${createHash("sha384").update(content).digest("base64")}`,
});
