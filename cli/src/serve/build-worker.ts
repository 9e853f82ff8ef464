/**
 * Builds the Worker into the folder that is the only argument, with the same bytes that `wrangler deploy` uploads. `bundle.ts` runs it.
 * Wrangler itself is not needed to serve, and would be three quarters of what is installed.
 */
import { createHash } from "node:crypto";
import { cpSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { extname, join } from "node:path";
import { buildSync } from "esbuild";
import { gzipSync } from "fflate";
import { parse } from "smol-toml";
import { type Encoding, METAFILE, type PublicFile, ROOT, SCRIPT, SETTINGS, type Settings } from "./bundle.ts";

const [outdir = ""] = process.argv.slice(2);

/** The types that Cloudflare gives to the files of `public/`. */
const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
  ".md": "text/markdown; charset=utf-8",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
};
/** The size above which a text is stored compressed, too. */
const COMPRESSED_BYTES_MIN = 4_000;

/** What is read of wrangler.toml. */
type Config = {
  main: string;
  compatibility_date: string;
  durable_objects: { bindings: { name: string; class_name: string }[] };
  ratelimits: { name: string; simple: { limit: number; period: number } }[];
  vars: Record<string, string>;
};

const config = parse(readFileSync(join(ROOT, "wrangler.toml"), "utf8")) as unknown as Config;
const { metafile } = buildSync({
  absWorkingDir: ROOT,
  entryPoints: [config.main],
  outfile: join(outdir, SCRIPT),
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2024",
  conditions: ["workerd", "worker", "browser"],
  external: ["cloudflare:*"],
  metafile: true,
});
writeFileSync(join(outdir, METAFILE), JSON.stringify(metafile));
const settings: Settings = {
  compatibilityDate: config.compatibility_date,
  durableObjects: config.durable_objects.bindings.map(({ name, class_name }) => ({
    binding: name,
    className: class_name,
  })),
  rateLimits: config.ratelimits.map(({ name, simple }) => ({ name, ...simple })),
  vars: config.vars,
  files: writePublicFiles(join(outdir, "public")),
};
writeFileSync(join(outdir, SETTINGS), JSON.stringify(settings));

/**
 * Copies `public/`, and compresses large texts: on Cloudflare the platform does that, and here nothing might. Returns the files by the paths
 * at which they are served.
 */
function writePublicFiles(folder: string): Record<string, PublicFile> {
  cpSync(join(ROOT, "public"), folder, { recursive: true });
  const names = globSync("**/*.*", { cwd: folder });
  // The Worker writes the origin of each reader into these, so it needs them as they are.
  const ofReaders: string[] = JSON.parse(readFileSync(join(folder, "docs/examples.json"), "utf8"));
  return Object.fromEntries(
    names.map((name) => {
      const content = readFileSync(join(folder, name));
      const type = TYPES[extname(name)] ?? "application/octet-stream";
      const file = { type, ...encodingOf(content) };
      const isFixedText = /^text|json|xml/.test(type) && !ofReaders.includes(`/${name}`);
      if (content.length <= COMPRESSED_BYTES_MIN || !isFixedText) return [`/${name}`, file];
      // Not by Node's zlib, whose bytes depend on its version and on the processor.
      const compressed = gzipSync(content, { level: 9, mtime: 0 });
      writeFileSync(join(folder, `${name}.gz`), compressed);
      return [`/${name}`, { ...file, gzip: encodingOf(compressed) }];
    }),
  );
}

/** Proxies that compress remove `-gzip` from the end of a validator, so the validator is that of the bytes. */
function encodingOf(content: Uint8Array): Encoding {
  const hash = createHash("sha256").update(content).digest("hex");
  return { bytes: content.length, etag: `"${hash.slice(0, 32)}"` };
}
