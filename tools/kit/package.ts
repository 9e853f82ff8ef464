/** The npm package: the client with its types, and `ug` for those who call a service. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type BuildOptions, build, buildSync, type Plugin } from "esbuild";
import { isolatedDeclarationSync } from "oxc-transform";
import { OF_SERVICE } from "../../cli/src/release.ts";
import { licencesOf, packagesIn } from "../package/components.ts";
import { CLI } from "../package/stage.ts";
import { hashesOf, type KitPart } from "./kit-file.ts";
import { type ArchivedFile, tarOf } from "./tar.ts";

const ENTRIES = ["index", "postgres", "server"];

/** The modules of the client and their types, with paths from `client/`. */
export function compileClient(root: string): ArchivedFile[] {
  const bundle = (name: string, options: BuildOptions = {}): ArchivedFile => {
    const { outputFiles } = buildSync({
      absWorkingDir: root,
      entryPoints: [`client/src/${name}.ts`],
      bundle: true,
      format: "esm",
      target: "es2022",
      write: false,
      logLevel: "warning",
      ...options,
    });
    return { path: `dist/${name}.js`, content: Buffer.from(outputFiles?.[0]?.contents ?? "") };
  };
  return [...ENTRIES.map((name) => bundle(name)), bundle("viewer", { minify: true }), ...declarationsIn(root)];
}

function declarationsIn(root: string): ArchivedFile[] {
  const folder = join(root, "client/src");
  return globSync("**/*.ts", { cwd: folder })
    .toSorted()
    .map((name) => {
      const { code, errors } = isolatedDeclarationSync(name, readFileSync(join(folder, name), "utf8"));
      if (errors.length > 0) throw new Error(`client/src/${name}: ${errors.map(({ message }) => message).join(" ")}`);
      return { path: `dist/${name.replace(/\.ts$/, ".d.ts")}`, content: Buffer.from(code) };
    });
}

/** `ug` of the package is one script, without the commands that work beside the service. */
const ABSENT = new RegExp(String.raw`/commands/(?:backup/)?(?:${OF_SERVICE.join("|")})\.ts$`);
/** In place of the version of the project, which is another one than the kit's. */
const VERSION = "0.0.0-kit";

const forCallers = (root: string): Plugin => ({
  name: "ug for those who call a service",
  setup({ onLoad }) {
    onLoad({ filter: ABSENT }, () => ({ contents: "export const command = undefined;" }));
    onLoad({ filter: /package\.json$/ }, ({ path }) =>
      path === join(root, "package.json") ? { contents: JSON.stringify({ version: VERSION }), loader: "json" } : null,
    );
  },
});

/** Bundles `ug`. Returns its text for a version, and the licences of what it contains. */
async function bundleUg(root: string): Promise<{ textFor: (version: string) => string; licences: string }> {
  const { outputFiles, metafile } = await build({
    ...CLI,
    absWorkingDir: root,
    target: "node22",
    minify: true,
    write: false,
    metafile: true,
    logLevel: "warning",
    plugins: [forCallers(root)],
  });
  const text = outputFiles[0]?.text ?? "";
  return { textFor: (version) => text.replaceAll(VERSION, version), licences: licencesOf(packagesIn([metafile])) };
}

/** Starts `ug`, unless this Node is too old for it. So it uses nothing newer than Node 14. */
const LAUNCHER = `#!/usr/bin/env node
if (Number(process.versions.node.split(".")[0]) >= 22) import("./ug.mjs");
else {
  console.error("ug needs Node 22 or newer, and this is Node " + process.versions.node + ". The client runs on Node 20, too.");
  process.exitCode = 1;
}
`;

/** The file that npm, pnpm, yarn and bun install. */
export async function packageOf(root: string, client: readonly ArchivedFile[]): Promise<KitPart> {
  const project = JSON.parse(readFileSync(join(root, "client/package.json"), "utf8"));
  const readme = readFileSync(join(root, "client/README.md"));
  const { textFor, licences } = await bundleUg(root);
  return ({ npm: version }) => {
    const manifest = { ...project, version, bin: { ug: "bin/ug.cjs" } };
    const files = [
      ...client,
      { path: "bin/ug.cjs", content: Buffer.from(LAUNCHER), isProgram: true },
      { path: "bin/ug.mjs", content: Buffer.from(textFor(version)) },
      { path: "bin/licences", content: Buffer.from(licences) },
      { path: "README.md", content: readme },
      { path: "package.json", content: Buffer.from(`${JSON.stringify(manifest, undefined, 2)}\n`) },
    ];
    const name = `user-group-service-${version}.tgz`;
    return {
      name,
      content: tarOf(files.map((file) => ({ ...file, path: `package/${file.path}` }))),
      title: "For servers in TypeScript and JavaScript, with the command ug",
      lines: `mkdir -p vendor
curl -fsS http://localhost:8787/kit/${name} -o vendor/${name}
npm install ./vendor/${name}
export PATH="$PWD/node_modules/.bin:$PATH"
ug --help`,
    };
  };
}

/** The file that pages import from this service. */
export function viewerOf(client: readonly ArchivedFile[]): KitPart {
  const content = client.find(({ path }) => path === "dist/viewer.js")?.content ?? Buffer.alloc(0);
  return ({ npm: version }) => {
    const name = `viewer-${version}.js`;
    const url = `http://localhost:8787/kit/${name}`;
    const map = { imports: { "user-group-service/viewer": url }, integrity: { [url]: hashesOf(content).integrity } };
    const lines = `<script type="importmap">\n${JSON.stringify(map, undefined, 2)}\n</script>`;
    return { name, content, title: "For pages, of any origin", lines };
  };
}
