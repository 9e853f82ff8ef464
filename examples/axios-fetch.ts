/** The life of a user group, with axios' fetch adapter, which sends no body with GET: a header names the method of a POST. */
import axios, { type AxiosError } from "axios";

type Answer = {
  success: 1 | 0;
  new_user_group: boolean;
  user_group: { token: string; name: string };
  error: { code: string; message: string };
};

const { SERVICE_URL, API_KEY } = process.env;
const id = process.argv[2] ?? "example";

const api = axios.create({ baseURL: `${SERVICE_URL}`, adapter: "fetch", validateStatus: null });

/** An AxiosError holds the request with its credential, so a log of the error would contain the credential. */
function withoutRequest({ code, message }: AxiosError): never {
  throw new Error(`No answer: ${message || code}`);
}

async function call(method: string, url: string, data?: object, credential = API_KEY) {
  const headers = { Authorization: `Token ${credential}`, "X-HTTP-Method-Override": method };
  const { data: answer } = await api
    .request<Answer>({ url, headers, ...(data && { method: "POST", data }) })
    .catch(withoutRequest);
  if (answer.success !== 1) throw new Error(`${answer.error.code}: ${answer.error.message}`);
  return answer;
}

const created = await call("GET", "/api/user", { user_group_id: id, name: "Acme", properties: { region: "eu" } });
const updated = await call("PUT", "/api/user", { user_group_id: id, name: "Café Acme" });
const old = updated.user_group.token;
const { token } = (await call("POST", "/api/user", { current_token: old })).user_group;
const viewed = await call("GET", "/api/viewer", undefined, token);
const deleted = await call("DELETE", "/api/user", { current_token: token });

console.info(
  JSON.stringify({
    created: created.new_user_group,
    updated: updated.user_group.name,
    rotated: token !== old,
    viewed: viewed.user_group.name,
    deleted: deleted.success === 1,
  }),
);
