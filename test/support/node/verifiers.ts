import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { describe, expect, inject, it } from "vitest";
import { outcomeOf } from "./commands.ts";
import { forgedSessions, mintSessions } from "./sessions.ts";
import { standIn } from "./stand-in.ts";
import { groupsOfWorkspace } from "./workspace.ts";

export const AUDIENCE = "verifiers/Customer";
/** An id that is not what it seems to be, in SQL, in JSON and in a terminal. */
export const HOSTILE_ID = `o'hara", "sub": "acme é€\\`;

/** A program that reads a token from its standard input, verifies it, and prints the number of the group and the viewer. */
type Verifier = { name: string; needs: string; command: string[]; isThere: boolean };

/** Serves public keys, as the service does at the path that is published. */
export async function serveKeys() {
  let jwks = {};
  const { url, received } = await standIn(({ path }) => ({
    status: path === "/.well-known/jwks.json" ? 200 : 404,
    headers: { "Content-Type": "application/json", "Cache-Control": "max-age=300" },
    body: jwks,
  }));
  const mint = (session: Omit<Parameters<typeof mintSessions>[0][number], "issuer">): string => {
    const minted = mintSessions([{ issuer: url, ...session }]);
    jwks = minted.jwks;
    return minted.tokens[0] ?? "";
  };
  return { url, received, mint };
}

/** Runs a verifier on a token, without blocking this process, which serves the keys. */
function verify([program = "", ...args]: string[], token: string, issuer: string, origin?: string) {
  const env = {
    ...process.env,
    SERVICE_URL: issuer,
    AUDIENCE,
    ...(origin !== undefined && { ORIGIN: origin }),
    NO_PROXY: "127.0.0.1,localhost",
    no_proxy: "127.0.0.1,localhost",
  };
  const child = spawn(program, args, { env });
  child.stdin.end(token);
  return outcomeOf(child);
}

/** Maps with as many runs at a time as there are processors. */
async function inParallel<Item>(items: Item[], run: (item: Item) => Promise<[string, object]>) {
  const queue = [...items];
  const results: [string, object][] = [];
  const work = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) results.push(await run(item));
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return results;
}

/** What each program that verifies sessions must accept and refuse. */
export const testVerifiers = (verifiers: readonly Verifier[]) =>
  describe.for(verifiers)("$name", ({ name, command, needs, isThere }) => {
    const skipped = isThere ? "" : `, skipped: ${needs} is missing`;

    it.skipIf(!isThere)(`verifies sessions with nothing but the public keys${skipped}`, async () => {
      const { url, received, mint } = await serveKeys();
      for (const claims of [
        { providedId: "initech", teamId: 12, viewerId: "jane" },
        { providedId: "initech", teamId: 4_000_000_000 },
        { providedId: HOSTILE_ID, teamId: 1, viewerId: HOSTILE_ID },
      ]) {
        const { stdout, stderr, status } = await verify(command, mint(claims), url);
        expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
        expect(JSON.parse(stdout)).toEqual({ team_id: claims.teamId, viewer: claims.viewerId ?? null });
      }
      expect(new Set(received.map(({ method, path }) => `${method} ${path}`))).toEqual(
        new Set(["GET /.well-known/jwks.json"]),
      );
    });

    it.skipIf(!isThere)(`names the same group after its id went to another one${skipped}`, async () => {
      const { url } = inject("service");
      const groups = await groupsOfWorkspace("verifiers", { environment: "Customer", name });
      const { group } = await groups.ensure({ userGroupId: HOSTILE_ID });
      const { token } = await groups.mintSession({ userGroupId: HOSTILE_ID, viewerId: "jane", includeVariables: true });
      await groups.update({ userGroupId: HOSTILE_ID, newUserGroupId: `renamed ${group.teamId}` });
      const { group: other } = await groups.ensure({ userGroupId: HOSTILE_ID });
      expect(other.teamId).not.toBe(group.teamId);
      const { stdout, stderr } = await verify(command, token, url);
      expect(stderr).toBe("");
      expect(JSON.parse(stdout)).toEqual({ team_id: group.teamId, viewer: "jane" });
    });

    it.skipIf(!isThere)(`accepts a session from the pages of its origins alone${skipped}`, async () => {
      const { url, mint } = await serveKeys();
      const anywhere = mint({ providedId: "initech" });
      const limited = mint({ providedId: "initech", origins: ["https://app.example", "https://other.example"] });
      for (const [session, origin, status] of [
        [anywhere, "https://thief.example", 0],
        [limited, undefined, 0],
        [limited, "https://other.example", 0],
        [limited, "https://thief.example", 1],
        [limited, "null", 1],
      ] as const) {
        const outcome = await verify(command, session, url, origin);
        expect(outcome, origin).toMatchObject({
          status,
          stderr: status === 0 ? "" : expect.stringContaining("The session is for pages of other origins."),
        });
      }
    });

    it.skipIf(!isThere)(`refuses every text that is no session of this environment${skipped}`, async () => {
      const { url, mint } = await serveKeys();
      const { valid, wrong } = forgedSessions(url, 4);
      const texts = {
        ...wrong,
        "an expired session": mint({ providedId: "initech", expiresInSeconds: -1 }),
        "a session of another workspace": mint({ providedId: "initech", workspace: "other" }),
      };
      expect(await verify(command, valid, url)).toMatchObject({ stderr: "", status: 0 });

      const outcomes = await inParallel(Object.entries(texts), async ([what, forged]) => {
        const { stdout, stderr, status } = await verify(command, forged, url);
        const shows = forged.length > 20 && (stdout + stderr).includes(forged.slice(-20));
        return [what, { stdout, status, shows, isExplained: stderr !== "" && !stderr.includes("    at ") }];
      });
      const refused = { stdout: "", status: 1, shows: false, isExplained: true };
      expect(Object.fromEntries(outcomes)).toEqual(
        Object.fromEntries(Object.keys(texts).map((what) => [what, refused])),
      );
    });
  });
