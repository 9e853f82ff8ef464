import type { Request } from "./load.ts";

/** The requests that the bench makes. */

const presenting = (credential: string) => ({ Authorization: `Token ${credential}` });

export const groupBody = (id: string) => ({
  user_group_id: id,
  name: "Acme Inc.",
  mapping: { sales: "warehouse-7" },
  properties: { region: "eu", plans: ["pro"] },
});

export const getRequest = (key: string, id: string): Request => ({
  method: "GET",
  path: "/api/user",
  headers: presenting(key),
  body: groupBody(id),
});

export const changeRequest = (key: string, method: "PUT" | "POST" | "DELETE", body: object): Request => ({
  method,
  path: "/api/user",
  headers: presenting(key),
  body,
});

export const viewRequest = (token: string, headers: Record<string, string> = {}): Request => ({
  method: "GET",
  path: "/api/viewer",
  headers: { ...presenting(token), ...headers },
});

export const mintRequest = (key: string, id: string, fields: object = {}): Request => ({
  method: "POST",
  path: "/api/viewer_sessions",
  headers: presenting(key),
  body: { user_group_id: id, expires_in_seconds: 3600, origins: ["https://app.example.com"], ...fields },
});

export const listRequest = (key: string, search: string): Request => ({
  method: "GET",
  path: `/api/user_groups?${search}`,
  headers: presenting(key),
});

export const tokenIn = (body: string): string => JSON.parse(body).user_group.token;

export const sessionIn = (body: string): string => JSON.parse(body).session.token;

/** Numbers below `below`, spread over the range and in an order that no page of the database has. */
export const spread = (count: number, below: number): number[] =>
  Array.from({ length: count }, (_, n) => (n * 7919) % below);
