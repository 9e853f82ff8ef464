/**
 * What a rule answers: a value, or a refusal that the caller can be told about. Plain data, because class instances do
 * not cross an RPC. Exceptions are left for bugs.
 */
export type Result<Value, Refusal> = { ok: true; value: Value } | { ok: false; failure: Refusal };

/** A success that carries `value`. */
export const ok = <Value>(value: Value): { ok: true; value: Value } => ({ ok: true, value });

/** A refusal that carries `failure`. */
export const fail = <Refusal>(failure: Refusal): { ok: false; failure: Refusal } => ({ ok: false, failure });
