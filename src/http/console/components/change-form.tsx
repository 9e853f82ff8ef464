import type { Child, FC } from "hono/jsx";
import type { Issue } from "../../../../common/issue.ts";
import type { RequestContext } from "../../app-env.ts";
import type { SignedInEnv } from "../console-env.ts";
import { ReasonField } from "./fields.tsx";
import { Form } from "./form.tsx";
import { OwnKey } from "./own-key.tsx";

/** The page of a change: what will happen, then its form, which is sent to the page's own path. */
export const ChangeForm: FC<{
  c: RequestContext<SignedInEnv>;
  /** What will happen, as sentences. */
  effects: Child[];
  button: string;
  isDangerous?: boolean;
  issues?: Issue[];
  /** Where to go without a change. */
  cancel: string;
  children?: Child;
}> = ({ c, effects, button, isDangerous = false, issues = [], cancel, children }) => (
  <>
    <ul class="effects">
      {effects.map((effect) => (
        <li>{effect}</li>
      ))}
    </ul>
    <Form ring={c.get("ring")} session={c.get("session")} action={c.req.path} class="page">
      {children}
      <OwnKey c={c} issues={issues} />
      <ReasonField value={c.get("form").get("reason") ?? ""} issues={issues} />
      <p class="row">
        <button type="submit" class={isDangerous ? "danger" : "primary"}>
          {button}
        </button>
        <a class="button" href={cancel}>
          Cancel
        </a>
      </p>
    </Form>
  </>
);
