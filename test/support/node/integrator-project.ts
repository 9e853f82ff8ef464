import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { build } from "esbuild";

/**
 * Makes a project as an integrator has it: copies of folders of `examples/`, which import the package of the client from its
 * `node_modules`. Returns its path, and what removes it.
 */
export async function integratorProject(...folders: string[]): Promise<{ project: string; remove: () => void }> {
  const project = mkdtempSync(join(tmpdir(), "integrator-"));
  for (const folder of folders) cpSync(folder, join(project, basename(folder)), { recursive: true });
  const installed = join(project, "node_modules", "user-group-service");
  mkdirSync(installed, { recursive: true });
  cpSync("client/package.json", join(installed, "package.json"));
  for (const entry of ["index", "postgres", "server", "viewer"])
    await build({
      entryPoints: [`client/src/${entry}.ts`],
      outfile: join(installed, "dist", `${entry}.js`),
      bundle: true,
      format: "esm",
      target: "es2022",
    });
  for (const name of ["hono", "@hono", "jose"])
    symlinkSync(resolve("node_modules", name), join(project, "node_modules", name));
  return { project, remove: () => rmSync(project, { recursive: true, force: true }) };
}
