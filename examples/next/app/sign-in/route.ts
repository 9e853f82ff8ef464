import { PEOPLE, signIn } from "../../product";

/** Replace this by your own sign-in: this example has no passwords. */
export async function POST(request: Request): Promise<Response> {
  const id = new URL(request.url).searchParams.get("person");
  const person = PEOPLE.find((each) => each.id === id);
  if (!person || request.headers.get("Origin") !== process.env.ORIGIN) return new Response(null, { status: 403 });
  return signIn(person);
}
