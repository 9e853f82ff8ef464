import { expect } from "vitest";
import { type Answer, call } from "./client.ts";
import { formToken, type VisitOptions, visit } from "./console.ts";
import { newProvider, type Provider } from "./identity-provider.ts";
import { operator } from "./states.ts";

export const ADA = "ada@example.com";
export const SIGN_IN = "/console/sign-in";
export const CONTINUE = `${SIGN_IN}/company`;

/** Issues an operator without a key, and returns its number. */
export async function issueByEmail(email = ADA, fields: object = {}): Promise<number> {
  const body = { name: "ada", role: "admin", email, key: false, ...fields };
  const answer = await call("POST", "/api/operators", { credential: operator, body });
  expect(answer).toMatchObject({ status: 201 });
  return answer.body.operator.id;
}

/** A browser behind the proxy of a company, whose requests have the header that the proxy sends. */
export type Employee = {
  provider: Provider;
  /** What the proxy sends with the next requests. */
  assertion: Record<string, string>;
  cookie: string;
  get: (path: string, options?: VisitOptions) => Promise<Answer>;
  /** Sends a form of the session to a path. */
  send: (path: string, fields?: Record<string, string>, options?: VisitOptions) => Promise<Answer>;
  /** Continues as the person of the assertion. */
  continueAs: (email?: string, next?: string) => Promise<Answer>;
};

/** The browser of somebody who is signed in at the company with this address, and not yet here. */
export async function newEmployee(email = ADA, provider?: Provider): Promise<Employee> {
  const at = provider ?? (await newProvider());
  const withAssertion = (options: VisitOptions = {}): VisitOptions => ({
    env: at.env,
    ...options,
    headers: { Cookie: employee.cookie, ...employee.assertion, ...options.headers },
  });
  const employee: Employee = {
    provider: at,
    assertion: await at.headersFor(email),
    cookie: "",
    get: (path, options) => visit("GET", path, withAssertion(options)),
    send: async (path, fields = {}, options = {}) => {
      const form_token = employee.cookie === "" ? "" : await formToken(employee.cookie, path);
      return visit("POST", path, withAssertion({ ...options, fields: { form_token, ...fields } }));
    },
    continueAs: async (as = email, next = "") => {
      const answer = await employee.send(`${CONTINUE}${next}`, { email: as });
      employee.cookie = answer.headers.get("Set-Cookie")?.split(";")[0] ?? employee.cookie;
      return answer;
    },
  };
  return employee;
}

/** An operator who has signed in with the company. */
export async function signedInEmployee(fields: object = {}): Promise<Employee & { id: number }> {
  const id = await issueByEmail(ADA, fields);
  const employee = await newEmployee();
  expect((await employee.continueAs()).status).toBe(303);
  return Object.assign(employee, { id });
}
