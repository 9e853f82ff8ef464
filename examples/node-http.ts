/** The life of a user group, with Node's http. Without the Content-Length, Node sends a GET whose body no server sees. */
import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import { text } from "node:stream/consumers";

type Answer = {
  success: 1 | 0;
  new_user_group: boolean;
  user_group: { token: string; name: string };
  error: { code: string; message: string };
};

const { SERVICE_URL, API_KEY } = process.env;
const id = process.argv[2] ?? "example";
const { request } = SERVICE_URL?.startsWith("https:") ? https : http;

async function call(method: string, path: string, body?: object, credential = API_KEY): Promise<Answer> {
  const json = Buffer.from(body ? JSON.stringify(body) : "");
  const response = await new Promise<IncomingMessage>((settle, fail) =>
    request(`${SERVICE_URL}${path}`, {
      method,
      headers: {
        Authorization: `Token ${credential}`,
        "Content-Type": "application/json",
        "Content-Length": json.length,
      },
    })
      .on("response", settle)
      .on("error", fail)
      .end(json),
  );
  const answer: Answer = JSON.parse(await text(response));
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
