/**
 * The result of an RPC; `undefined` if it fails. Only for data that a page can do without: during a deployment, the Durable Object may be
 * of a release that lacks the method.
 */
export async function ifAnswered<Value>(call: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await call();
  } catch {
    return undefined;
  }
}
