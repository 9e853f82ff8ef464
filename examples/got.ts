/** The life of a user group, with got. */
import got, { type Method } from "got";

type Answer = {
  success: 1 | 0;
  new_user_group: boolean;
  user_group: { token: string; name: string };
  error: { code: string; message: string };
};

const { SERVICE_URL, API_KEY } = process.env;
const id = process.argv[2] ?? "example";

async function call(method: Method, path: string, body?: object, credential = API_KEY) {
  const answer = await got(`${SERVICE_URL}${path}`, {
    method,
    headers: { Authorization: `Token ${credential}` },
    ...(body && { json: body, allowGetBody: true }),
    throwHttpErrors: false,
  }).json<Answer>();
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
