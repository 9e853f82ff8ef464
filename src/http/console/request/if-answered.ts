/** What an RPC returns; `undefined` if it fails. For what a page can do without, such as a method that the other release lacks. */
export async function ifAnswered<Value>(call: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await call();
  } catch {
    return undefined;
  }
}
