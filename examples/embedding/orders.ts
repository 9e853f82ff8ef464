/** An endpoint of your own API: the orders that the caller may see. As a program, it takes a session on the standard input. */
import { text } from "node:stream/consumers";
import pg from "pg";
import { withSession } from "user-group-service/postgres";
import { requireSession } from "user-group-service/server";

const { SERVICE_URL = "", AUDIENCE = "", DATABASE_URL = "" } = process.env;
// The environment, such as acme/Customer: in another one, the same number is another customer.
const check = requireSession({
  jwks: `${SERVICE_URL}/.well-known/jwks.json`,
  audience: AUDIENCE,
  // Where people see your pages.
  origins: [process.env.ORIGIN ?? "http://localhost:3000"],
});
const pool = new pg.Pool({ connectionString: DATABASE_URL });

/** Answers a request of a page, in any server with the Web's `Request` and `Response`. */
async function orders(request: Request): Promise<Response> {
  const session = await check(request);
  if (session instanceof Response) return session;
  // No WHERE: the policies of the table leave only the rows of the customer and the person.
  const sql = "SELECT store, amount FROM orders ORDER BY id";
  const { rows } = await withSession(pool, session, (client) => client.query(sql), { audience: AUDIENCE });
  return Response.json(rows);
}

const Authorization = `Bearer ${(await text(process.stdin)).trim()}`;
const answer = await orders(new Request("http://localhost/orders", { headers: { Authorization } }));
console.info(await answer.text());
await pool.end();
