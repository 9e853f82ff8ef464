import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { JAVA } from "../../../tools/clients/matrix.ts";

/** Whether a program runs and succeeds here. */
export const succeeds = (program: string, ...args: string[]) => spawnSync(program, args).status === 0;

export const hasJava = succeeds("java", "--add-modules", "jdk.compiler,java.net.http", "--source", "17", "--version");

/**
 * Compiles the recipe in Java, because `java VerifySession.java` compiles it at each start. Returns the command that runs it, and
 * what removes the files.
 */
export function compiledVerifySession(): { command: string[]; remove: () => void } {
  const classes = mkdtempSync(join(tmpdir(), "verify-session-"));
  const javac = ["-m", "jdk.compiler/com.sun.tools.javac.Main", "-d", classes, "examples/embedding/VerifySession.java"];
  if (hasJava && !succeeds("java", ...javac)) throw new Error("VerifySession.java does not compile.");
  return {
    command: [...JAVA, "-cp", classes, "VerifySession"],
    remove: () => rmSync(classes, { recursive: true, force: true }),
  };
}
