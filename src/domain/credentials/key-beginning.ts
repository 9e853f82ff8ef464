import { ENVIRONMENT_TAGS, type Environment, tagWord, WORKSPACE } from "../../../common/environment.ts";
import { concat, fromBase64url } from "../bytes.ts";

/**
 * What the beginning of a credential tells without its secret: people have it from a log, a scanner of secrets or a screenshot.
 * The text is that of credential.ts, of which everything before the nonce is public.
 */
export type CredentialBeginning = {
  kind: "api_key" | "token" | "operator_key";
  /** Where a key or a group is; `undefined` of an operator's key, and where the text ends before it. */
  environment: Environment | undefined;
  /** The numbers that the key or the group may have: the text may end some bits before the end of it. None if it ends earlier. */
  ids: number[];
};

const BEGINNING = /^(?:(ug[kt])_(customer|testing|untagged)_|ugo_)([\w-]*)$/;
const BITS_OF_CHARACTER = 6;
const NUMBER_BITS = 64;
const MISSING_BITS_MAX = 4;
/** A payload has 154 characters at most. */
const CHARACTERS_MAX = 160;

/** Reads the beginning of a credential, or a whole one; `undefined` for any other text. */
export function readBeginning(text: string): CredentialBeginning | undefined {
  const [matched, prefix, word, payload = ""] = BEGINNING.exec(text.trim().replace(/(?:…|\.+)$/, "")) ?? [];
  if (matched === undefined || payload.length > CHARACTERS_MAX) return undefined;
  const kind = prefix === undefined ? "operator_key" : prefix === "ugk" ? "api_key" : "token";
  const bytes = bytesOf(payload);
  const knownBits = payload.length * BITS_OF_CHARACTER;
  const workspaceAt = 3 + (bytes[1] ?? 0);
  const numberAt = workspaceAt + (bytes[workspaceAt - 1] ?? 0);
  if (knownBits < numberAt * 8 || knownBits < workspaceAt * 8) return { kind, environment: undefined, ids: [] };
  const workspace = String.fromCharCode(...bytes.subarray(workspaceAt, numberAt));
  const tag = ENVIRONMENT_TAGS.find((each) => tagWord(each).toLowerCase() === word);
  const environment = tag !== undefined && WORKSPACE.test(workspace) ? { workspace, tag } : undefined;
  const missing = Math.max(0, NUMBER_BITS - (knownBits - numberAt * 8));
  return { kind, environment, ids: missing > MISSING_BITS_MAX ? [] : idsFrom(bytes, numberAt, 2 ** missing) };
}

/** The bytes of base64url that may end anywhere, and zeros after them. */
function bytesOf(payload: string): Uint8Array {
  const padded = payload.padEnd(Math.ceil((payload.length + 1) / 4) * 4, "A");
  return concat(fromBase64url(padded), new Uint8Array(NUMBER_BITS / 8));
}

function idsFrom(bytes: Uint8Array, numberAt: number, count: number): number[] {
  const first = Number(new DataView(bytes.buffer).getBigUint64(numberAt));
  return Array.from({ length: count }, (_, index) => first + index).filter((id) => id > 0 && Number.isSafeInteger(id));
}
