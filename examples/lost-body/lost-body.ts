/**
 * `lost-body.ts CLIENT chunked|no-length ID`: a GET by a client of Node whose body may not arrive. Prints the answer, or
 * what the client throws before it sends anything.
 */
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import axios from "axios";
import got from "got";
import ky from "ky";
import superagent from "superagent";
import { request } from "undici";

const [client, way, id] = process.argv.slice(2);
const url = `${process.env.SERVICE_URL}/api/user`;
const body = JSON.stringify({ user_group_id: id });
const stream = () => Readable.from([body]);
const headers = {
  Authorization: `Token ${process.env.API_KEY}`,
  "Content-Type": "application/json",
  ...(way === "chunked" && client !== "undici" && { "Transfer-Encoding": "chunked" }),
};

/** The request of each client. With Transfer-Encoding the body is sent in chunks; without it a stream has no length. */
const gets: Record<string, () => Promise<string>> = {
  "Node http": async () => {
    const response = await new Promise<IncomingMessage>((settle, fail) => {
      const send = url.startsWith("https:") ? httpsRequest : httpRequest;
      send(url, { method: "GET", headers }).on("response", settle).on("error", fail).end(body);
    });
    return text(response);
  },
  undici: async () => (await request(url, { method: "GET", headers, body: stream() })).body.text(),
  axios: async () => {
    const options = { headers, data: stream(), validateStatus: null, responseType: "text" } as const;
    return (await axios.get<string>(url, options)).data;
  },
  got: () => got(url, { headers, body: stream(), allowGetBody: true, throwHttpErrors: false }).text(),
  superagent: () =>
    new Promise((settle, fail) => {
      const get = superagent.get(url).set(headers);
      get.ok(() => true).write(body);
      get.end((error, response) => (error ? fail(error) : settle(response.text)));
    }),
  fetch: async () => (await fetch(url, { method: "GET", headers, body })).text(),
  ky: () => ky.get(url, { headers, body, throwHttpErrors: false }).text(),
  "axios fetch": async () => (await axios.get(url, { adapter: "fetch", headers, data: body })).data,
};

try {
  console.info(await gets[client ?? ""]?.());
} catch (error) {
  // Not the error itself: that of axios holds the API key.
  console.info(JSON.stringify({ thrown: error instanceof Error ? error.message : "" }));
}
