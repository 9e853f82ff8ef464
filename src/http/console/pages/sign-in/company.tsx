import type { FC } from "hono/jsx";
import { ssoIn } from "../../../../../common/settings/settings.ts";
import type { Assertion } from "../../../../domain/credentials/assertion.ts";
import type { RequestContext } from "../../../app-env.ts";
import { registryOf } from "../../../durable-objects.ts";
import { Text } from "../../components/text.tsx";
import type { SignedInEnv } from "../../console-env.ts";
import { assertedPerson } from "../../request/asserted-person.ts";
import { ifAnswered } from "../../request/if-answered.ts";

type Call = RequestContext<SignedInEnv>;

/** The person whom the company's proxy asserts, and the name of the operator with that address. Either may be missing. */
type CompanySignIn = { email: string | undefined; operator: string | undefined };

/** Counts a sign-in of this person, which costs an RPC. Returns whether it is within the limit. */
export const companyLimit = async (c: Call, { email }: Assertion): Promise<boolean> =>
  (await c.env.OPERATOR_LIMIT.limit({ key: `company ${email}` })).success;

/** Who may continue without a key; `undefined` if the deployment has no sign-in with a company. */
export async function companyOf(c: Call): Promise<CompanySignIn | undefined> {
  if (!ssoIn(c.env)) return undefined;
  const person = await assertedPerson(c);
  if (!person || !(await companyLimit(c, person))) return { email: undefined, operator: undefined };
  const { email } = person;
  const presented = { key: { email }, requestId: c.get("requestId") };
  // Without the registry, the page still offers the sign-in by key.
  const admitted = await ifAnswered(async () => registryOf(c.env).admit(presented, "viewer", undefined));
  return { email, operator: admitted?.ok ? admitted.value.name : undefined };
}

/** The form by which the person of the assertion continues, or why there is none. */
export const Company: FC<{ company: CompanySignIn | undefined; action: string }> = ({ company, action }) => {
  if (!company) return null;
  const { email, operator } = company;
  if (email === undefined)
    return (
      <p class="hint field">
        Your company's sign-in has sent no valid assertion with this request. Open the console by the address that your
        company protects, or sign in with a key.
      </p>
    );
  if (operator === undefined)
    return (
      <div class="notice warn">
        <p>
          Your company's sign-in says that you are <Text value={email} />, and no operator has this email. Ask an admin
          to issue one, or sign in with a key.
        </p>
      </div>
    );
  return (
    <form method="post" action={action} class="page">
      <input type="hidden" name="email" value={email} />
      <div class="field">
        <p class="hint field">
          Your company's sign-in says that you are <Text value={email} />.
        </p>
        <button type="submit" class="primary">
          <span>
            Continue as <Text value={operator} />
          </span>
        </button>
      </div>
    </form>
  );
};
