import { DurableObject } from "cloudflare:workers";
import { type Context, Hono } from "hono";

type Bindings = { FLOOR_DIRECTORY: DurableObjectNamespace<FloorDirectory> };

/** A table of the shape that user groups have, and one statement for each thing that a call cannot do without. */
export class FloorDirectory extends DurableObject<Bindings> {
  readonly #sql = this.ctx.storage.sql;

  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, env);
    this.#sql.exec(`CREATE TABLE IF NOT EXISTS user_groups (team_id INTEGER PRIMARY KEY,
      provided_id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, nonce BLOB NOT NULL, generation BLOB NOT NULL, grace_nonce BLOB,
      grace_generation BLOB, grace_ends_at INTEGER, suspended_at INTEGER, revision INTEGER NOT NULL, created_at INTEGER NOT NULL,
      updated_at INTEGER NOT NULL, mapping TEXT, properties TEXT) STRICT`);
    this.#sql.exec(
      "CREATE TABLE IF NOT EXISTS events (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, details TEXT) STRICT",
    );
  }

  read(id: string) {
    return this.#sql.exec("SELECT * FROM user_groups WHERE provided_id = ?", id).toArray()[0];
  }

  write(id: string, name: string) {
    const row = this.read(id);
    this.#sql.exec("UPDATE user_groups SET name = ?, updated_at = ? WHERE team_id = ?", name, Date.now(), row?.team_id);
    this.#sql.exec("INSERT INTO events (at, details) VALUES (?, ?)", Date.now(), id);
    return row;
  }
}

/**
 * What the platform itself costs: the same request, its body parsed, one RPC, one SELECT, and for calls that write one
 * UPDATE and one INSERT. It checks no credential, validates no field and logs nothing.
 */
const floor = new Hono<{ Bindings: Bindings }>();

floor.get("/api/viewer", async (c) => {
  return c.json(await c.env.FLOOR_DIRECTORY.getByName("floor").read(c.req.query("id") ?? ""));
});
const read = async (c: Context<{ Bindings: Bindings }>) => {
  const { user_group_id: id } = await c.req.json();
  return c.json(await c.env.FLOOR_DIRECTORY.getByName("floor").read(id));
};
floor.get("/api/user", read);
// A session is minted from what one read returns.
floor.post("/mint", read);

const write = async (c: Context<{ Bindings: Bindings }>) => {
  const { user_group_id: id, name } = await c.req.json();
  return c.json(await c.env.FLOOR_DIRECTORY.getByName("floor").write(id, name ?? "floor"));
};
floor.on(["PUT", "POST", "DELETE"], "/api/user", write);
// The path distinguishes a GET that creates from one that finds, because the floor looks nothing up first.
floor.get("/create", write);

export default floor;
