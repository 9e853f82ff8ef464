"use client";
import { useCallback, useEffect, useState } from "react";
import { ViewerClient } from "user-group-service/viewer";

type Shown = { name: string; orders: { amount: number }[] };

/** Sentences for people who may not see the orders, by the code of the error. After any other code, a later try may succeed. */
const SENTENCES: Record<string, string> = {
  signed_out: "Sign in to see your orders.",
  user_group_suspended: "Your account is suspended. Contact our support.",
  user_group_not_found: "There are no orders for your account. Contact our support.",
};
const UNAVAILABLE = "Your orders cannot be updated at the moment. Try again in a few minutes.";

/** Calls the product's own API with the session, and once more with another one if that has ended. */
async function load(viewer: ViewerClient): Promise<Shown> {
  const ask = (token: string) => fetch("/orders", { headers: { Authorization: `Bearer ${token}` } });
  const { token } = await viewer.session();
  let response = await ask(token);
  if (response.status === 401) response = await ask((await viewer.session({ refused: token })).token);
  const body = await response.json();
  if (!response.ok) throw Object.assign(new Error("There are no orders."), body.error);
  return body;
}

export function Orders({ service, people }: { service: string; people: { id: string; name: string }[] }) {
  const [viewer] = useState(
    () => new ViewerClient({ url: service, session: () => fetch("/session", { method: "POST" }) }),
  );
  const [shown, setShown] = useState<Shown>();
  const [status, setStatus] = useState("Loading…");

  const refresh = useCallback(async () => {
    try {
      const loaded = await load(viewer);
      setShown(loaded);
      setStatus(loaded.name);
    } catch (error) {
      const { name, code } = Object(error);
      // Somebody has signed out: the next answer is the one to show.
      if (name === "AbortError") return;
      const sentence = SENTENCES[code];
      if (sentence) setShown(undefined);
      setStatus(sentence ?? UNAVAILABLE);
    }
  }, [viewer]);

  useEffect(() => {
    void refresh();
    const timer = setInterval(refresh, 60_000);
    return () => clearInterval(timer);
  }, [refresh]);

  /** Signs in or out. What this page has got for the person before is shown to nobody any more. */
  async function change(path: string) {
    const { ok } = await fetch(path, { method: "POST" }).catch(() => ({ ok: false }));
    if (!ok) return;
    viewer.reset();
    setShown(undefined);
    await refresh();
  }

  return (
    <main>
      <p role="status">{status}</p>
      <ul>
        {shown?.orders.map(({ amount }) => (
          <li key={amount}>{amount}</li>
        ))}
      </ul>
      {shown ? (
        <button type="button" onClick={() => change("/sign-out")}>
          Sign out
        </button>
      ) : (
        people.map(({ id, name }) => (
          <button key={id} type="button" onClick={() => change(`/sign-in?person=${id}`)}>
            {name}
          </button>
        ))
      )}
    </main>
  );
}
