import { requireSession } from "user-group-service/server";
import { findPerson, ordersOf, product } from "../../product";

/** Any API key will do: this one asks the service about each session. */
const check = requireSession(() => ({
  client: product().client,
  origins: product().origins,
  audience: process.env.AUDIENCE ?? "",
  user: ({ teamId, viewerId }) => findPerson(teamId, viewerId),
}));

export async function GET(request: Request): Promise<Response> {
  const session = await check(request);
  if (session instanceof Response) return session;
  return Response.json({ name: session.user.name, orders: ordersOf(session.user) });
}
