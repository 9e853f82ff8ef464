/** `ug` of the npm package: one script, without the commands that work beside the service. */
import { join } from "node:path";
import { build, type Plugin } from "esbuild";
import { OF_SERVICE } from "../../cli/src/release.ts";
import { CLI } from "../package/bundle-cli.ts";
import { licencesOf, packagesIn } from "../package/components.ts";

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
export async function bundleUg(root: string): Promise<{ textFor: (version: string) => string; licences: string }> {
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
