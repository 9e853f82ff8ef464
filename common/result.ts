/**
 * The outcome of a rule: a value, or a failure for the caller. It is plain data, because class
 * instances do not cross an RPC. Exceptions are for bugs.
 */
export type Result<Value, Refusal> = { ok: true; value: Value } | { ok: false; failure: Refusal };

/** A success that carries `value`. */
export const ok = <Value>(value: Value): { ok: true; value: Value } => ({ ok: true, value });

/** A refusal that carries `failure`. */
export const fail = <Refusal>(failure: Refusal): { ok: false; failure: Refusal } => ({ ok: false, failure });
