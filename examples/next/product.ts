/** What is yours in a product with Next: its people, their sign-in, and their rows. */
import { UserGroupClient } from "user-group-service/client";

export type Person = { id: string; name: string; customer: string };

export const PEOPLE: readonly Person[] = [
  { id: "ada", name: "Ada of Harbour Coffee", customer: "harbour" },
  { id: "cleo", name: "Cleo of Corner Books", customer: "corner" },
];

const ORDERS = [
  { customer: "harbour", person: "ada", amount: 120 },
  { customer: "harbour", person: "ben", amount: 35 },
  { customer: "corner", person: "cleo", amount: 990 },
];

export const ordersOf = ({ id, customer }: Person): { amount: number }[] =>
  ORDERS.filter((order) => order.person === id && order.customer === customer).map(({ amount }) => ({ amount }));

/** Next loads a module once for each route, so this is in the process. Yours is a table of your database. */
const shared = globalThis as typeof globalThis & { signIns?: Map<string, Person>; teams?: Map<number, string> };
shared.signIns ??= new Map();
shared.teams ??= new Map();
const { signIns, teams } = shared;

const sidOf = (request: Request): string => /\bsid=([\w-]+)/.exec(request.headers.get("Cookie") ?? "")?.[1] ?? "";

export const signedIn = (request: Request): Person | undefined => signIns.get(sidOf(request));

/** Signs a person in, without a password. Creates the customer's group, and keeps its number, which never changes. */
export async function signIn(person: Person): Promise<Response> {
  const { group } = await client().ensure({ userGroupId: person.customer });
  teams.set(group.teamId, person.customer);
  const sid = crypto.randomUUID();
  signIns.set(sid, person);
  return new Response(null, {
    status: 204,
    headers: { "Set-Cookie": `sid=${sid}; HttpOnly; SameSite=Strict; Path=/` },
  });
}

export function signOut(request: Request): Response {
  signIns.delete(sidOf(request));
  return new Response(null, { status: 204, headers: { "Set-Cookie": "sid=; Max-Age=0; Path=/" } });
}

export const findPerson = (teamId: number, id: string | undefined): Person | undefined =>
  PEOPLE.find((person) => person.id === id && person.customer === teams.get(teamId));

export const client = (): UserGroupClient =>
  new UserGroupClient({ url: process.env.SERVICE_URL ?? "", apiKey: process.env.API_KEY ?? "" });

/** What the endpoints of sessions need. Each of them calls it at its first request, so that `next build` needs no settings. */
export const product = () => ({
  client: client(),
  user: signedIn,
  customer: (person: Person) => person.customer,
  viewer: (person: Person) => ({ viewerId: person.id }),
  origins: [process.env.ORIGIN ?? ""],
});
