import type { Child } from "hono/jsx";
import type { StoredKey } from "../../../records.ts";
import type { RequestContext } from "../../app-env.ts";
import { Facts } from "../components/detail.tsx";
import { Rights } from "../components/key-details.tsx";
import { Text, Time, utcTime } from "../components/text.tsx";
import type { SignedInEnv } from "../console-env.ts";
import { respondWithPage } from "./respond-with-page.tsx";

/** A new key, the title of its page, and the link back to its list. After a roll, `replaced` names the old key and its end. */
type NewKey = { title: string; stored: StoredKey; text: string; back: [path: string, text: string]; replaced?: Child };

/**
 * Answers with the page that shows the text of a new key, once. No other page shows a credential. Throws if the form has not asked for
 * the operator's own key or for a recent assertion, as the table of page-access.ts has to say.
 */
export function respondWithNewKey(
  c: RequestContext<SignedInEnv>,
  { title, stored, text, back, replaced }: NewKey,
): Promise<Response> {
  if (c.get("ownKeyIssues")?.length !== 0)
    throw new Error("The form of this page has to ask for the operator's own key.");
  const [path] = back;
  return respondWithPage(c, {
    title,
    crumbs: [back],
    children: (
      <>
        <div class="notice ok" role="status">
          <div>
            <p>
              This is the only time that the key is shown. Copy it to where it is used, and to nowhere else: not into a
              mail, a ticket or a page.
            </p>
            <pre>
              <code>{text}</code>
            </pre>
          </div>
        </div>
        <Facts
          facts={[
            ["Name", <Text value={stored.name} />],
            ["May", <Rights rights={stored.rights} />],
            [
              "Expires",
              stored.expiresAt === null ? (
                "never"
              ) : (
                <>
                  {utcTime(stored.expiresAt)}{" "}
                  <small>
                    <Time at={stored.expiresAt} />
                  </small>
                </>
              ),
            ],
            ["Replaces", replaced],
          ]}
        />
        <p>
          <a class="button" href={path}>
            Back to the list
          </a>
        </p>
      </>
    ),
  });
}
