import type { RequestContext } from "../../app-env.ts";
import type { SignedInEnv } from "../console-env.ts";
import { respondWithPage } from "./respond-with-page.tsx";

/**
 * Answers with the page that shows the text of a new key, once. No other page shows a credential. Throws if the form has not asked for
 * the operator's own key, as the table of access.ts has to say.
 */
export function respondWithNewKey(
  c: RequestContext<SignedInEnv>,
  { title, text, back }: { title: string; text: string; back: string },
): Promise<Response> {
  if (c.get("ownKeyIssues")?.length !== 0)
    throw new Error("The form of this page has to ask for the operator's own key.");
  return respondWithPage(c, {
    title,
    children: (
      <>
        <p>
          This is the only time that it is shown. Copy it to where it is used, and to nowhere else: not into a mail, a
          ticket or a page.
        </p>
        <pre>
          <code>{text}</code>
        </pre>
        <p>
          <a href={back}>Back to the list</a>
        </p>
      </>
    ),
  });
}
