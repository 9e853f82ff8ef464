/**
 * `npm run package [FOLDER]`: writes the release of this commit into FOLDER, `dist/` by default: one file that installs the service on a
 * Linux machine without a network, its SHA-256 and its SBOM. The same commit gives the same bytes.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { ROOT } from "../cli/src/serve/bundle.ts";
import { sbomOf } from "./package/components.ts";
import { sha256Of, stage } from "./package/stage.ts";

const [out = "dist"] = process.argv.slice(2);
const { version }: { version: string } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const git = (...args: string[]) => execFileSync("git", args, { cwd: ROOT, encoding: "utf8" }).trim();

const committedAt = Number(git("log", "-1", "--format=%ct"));
if (git("status", "--porcelain") !== "")
  console.warn("This folder has changes that are in no commit, so the file is not the one that its commit gives.");

const name = `user-group-service-${version}-${process.platform}-${process.arch}`;
const file = `${name}.tar.gz`;
mkdirSync(out, { recursive: true });
const unfinished = mkdtempSync(join(resolve(out), ".unfinished-"));
try {
  const components = stage(join(unfinished, version));
  pack(join(resolve(out), file));
  writeFileSync(join(out, `${file}.sha256`), `${sha256Of(join(out, file))}  ${file}\n`);
  const sbom = sbomOf({ version, committedAt, components });
  writeFileSync(join(out, `${name}.sbom.json`), `${JSON.stringify(sbom, undefined, 2)}\n`);
  console.info(`Wrote ${join(out, file)}, its .sha256 and its SBOM.`);
} finally {
  rmSync(unfinished, { recursive: true, force: true });
}

/** Modes, owners, times and the order of files would otherwise be those of this machine. */
function pack(archive: string): void {
  const options = [
    ...["--sort=name", `--mtime=@${committedAt}`, "--owner=0", "--group=0", "--numeric-owner"],
    ...["--mode=u=rwX,go=rX", "--format=gnu", "--use-compress-program=gzip -n"],
  ];
  execFileSync("tar", [...options, "--create", "--file", archive, version], {
    cwd: unfinished,
    env: { ...process.env, LC_ALL: "C" },
  });
}
