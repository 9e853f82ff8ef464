import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { request } from "undici";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Answer } from "../support/node/client.ts";
import { type PlainService, startPlainService } from "../support/node/plain-workerd.ts";

const DISK_MB = 3;
const IN_ACME = "?workspace=acme&environment=Testing";

const disk = mkdtempSync(join(tmpdir(), "user-group-disk-"));
const canMount = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${DISK_MB}m`, "tmpfs", disk]).status === 0;

afterAll(() => {
  if (canMount) spawnSync("umount", [disk]);
  rmSync(disk, { recursive: true, force: true });
});

describe.skipIf(!canMount)(`on a full disk${canMount ? "" : ", skipped: this user may not mount one"}`, () => {
  let service: PlainService;
  /** A key that was never used: its first use would be noted. */
  let unusedKey: string;
  let token: string;
  let acknowledged = "";

  const call = async (method: string, path: string, body?: object, credential = service.key): Promise<Answer> => {
    const answer = await request(service.url + path, {
      method: method as "GET",
      headers: { authorization: `Token ${credential}`, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: answer.statusCode, headers: answer.headers, body: await answer.body.json() };
  };
  const rename = (name: string) => call("PUT", "/api/user", { user_group_id: "acme", name });
  const issueKey = () =>
    call("POST", "/api/keys", { workspace: "acme", environment: "Testing", name: "new" }, service.operatorToken);

  beforeAll(async () => {
    const state = join(disk, "state");
    mkdirSync(state);
    service = await startPlainService({ state });
    token = (await call("GET", "/api/user", { user_group_id: "acme" })).body.user_group.token;
    unusedKey = (await issueKey()).body.key;
    let size = DISK_MB * 1024 * 1024;
    for (let count = 0; ; count += 1) {
      const { status } = await rename(`name ${count}`);
      if (status !== 200) break;
      acknowledged = `name ${count}`;
      // Large files first; the last bytes are left to the service itself.
      for (let isFull = false; !isFull && size >= 4096; )
        try {
          writeFileSync(join(disk, `filler-${count}-${size}`), Buffer.alloc(size), { flag: "wx" });
          isFull = true;
        } catch {
          rmSync(join(disk, `filler-${count}-${size}`), { force: true });
          size = Math.floor(size / 2);
        }
    }
  });

  afterAll(async () => {
    await service?.stop();
  });

  it("refuses each change with 507 environment_full, and logs that the disk is full", async () => {
    const changes = {
      update: await rename("refused"),
      create: await call("GET", "/api/user", { user_group_id: "new" }),
      rotate: await call("POST", "/api/user", { current_token: token }),
      delete: await call("DELETE", "/api/user", { current_token: token }),
      suspend: await call("PUT", `/api/user_groups/1${IN_ACME}`, { suspended: true }, service.operatorToken),
      "issue a key": await issueKey(),
      "issue an operator": await call("POST", "/api/operators", { name: "ada", role: "admin" }, service.operatorToken),
    };
    const codes = Object.entries(changes).map(([what, { status, body }]) => [what, status, body.error?.code]);
    expect(codes).toEqual(Object.keys(changes).map((what) => [what, 507, "environment_full"]));
    const lines = service.log().match(/^\{.*"status":507.*$/gm) ?? [];
    expect(lines.length).toBeGreaterThanOrEqual(codes.length);
    for (const line of lines)
      expect(JSON.parse(line)).toMatchObject({ level: "error", problem: expect.stringContaining("The disk is full.") });
  });

  it("is not ready, because of its storage, as often as /ready is asked", async () => {
    for (let asked = 0; asked < 2; asked += 1) {
      const { status, body } = await call("GET", "/ready");
      expect([status, body.error?.code, body.error?.failed]).toEqual([503, "not_ready", ["storage"]]);
    }
    expect(
      service
        .log()
        .match(/^\{.*"path":"\/ready".*$/gm)
        ?.at(-1),
    ).toContain("The disk is full.");
    expect((await call("GET", "/api/environments", undefined, service.operatorToken)).status).toBe(200);
  });

  it("answers reads, also with a key whose use it cannot note, and while changes fail", async () => {
    const session = (await call("POST", "/api/viewer_sessions", { user_group_id: "acme" }, unusedKey)).body.session
      .token;
    const statuses = new Set<number>();
    for (let round = 0; round < 5; round += 1) {
      const refused = rename("refused");
      const reads = await Promise.all([
        call("GET", "/api/user", { user_group_id: "acme" }, unusedKey),
        call("GET", "/api/user_groups", undefined, unusedKey),
        call("GET", "/api/whoami", undefined, unusedKey),
        call("GET", "/api/viewer", undefined, token),
        call("GET", "/api/viewer", undefined, session),
        call("GET", "/api/environments", undefined, service.operatorToken),
      ]);
      for (const { status } of reads) statuses.add(status);
      expect((await refused).status).toBe(507);
    }
    expect([...statuses]).toEqual([200]);
  });

  it("keeps what it has acknowledged, and takes changes again when there is space", async () => {
    expect((await call("GET", "/api/viewer", undefined, token)).body.user_group.name).toBe(acknowledged);
    spawnSync("sh", ["-c", `rm ${join(disk, "filler-")}*`]);
    expect((await rename("renamed")).status).toBe(200);
    expect((await call("GET", "/api/viewer", undefined, token)).body.user_group.name).toBe("renamed");
    const { body } = await call("POST", "/api/user", { current_token: token });
    expect((await call("GET", "/api/viewer", undefined, body.user_group.token)).status).toBe(200);
  });
});
