import { once } from "node:events";
import { connect } from "node:tls";
import { FIRST_ANSWER_MS_MAX } from "../support/transport.ts";
import { type Finding, failed, ok, skipped, warning } from "./finding.ts";

const CHECK = "certificate";
/** Proxies renew certificates of 90 days a month before their end. */
const RENEWED_DAYS_MIN = 14;
const DAY_MS = 24 * 3_600_000;

/** When the certificate of the server ends; nothing for an address without TLS. */
export async function checkCertificate(url: URL): Promise<Finding[]> {
  if (url.protocol !== "https:") return [];
  const host = url.hostname.replace(/^\[|\]$/g, "");
  // The calls of the service verify it; here an expired one is examined.
  const socket = connect({ host, port: Number(url.port || 443), servername: host, rejectUnauthorized: false });
  try {
    await once(socket, "secureConnect", { signal: AbortSignal.timeout(FIRST_ANSWER_MS_MAX) });
    return [findingFor(new Date(socket.getPeerCertificate().valid_to), Date.now())];
  } catch {
    return [skipped(CHECK, "it cannot be read")];
  } finally {
    socket.destroy();
  }
}

/** The finding for a certificate that ends then. */
export function findingFor(end: Date, now: number): Finding {
  const days = Math.floor((end.getTime() - now) / DAY_MS);
  if (days < 0) return failed(CHECK, `It ended at ${end.toISOString()}. Renew it in the proxy.`);
  const ends = `ends at ${end.toISOString()}, in ${days} days`;
  return days < RENEWED_DAYS_MIN
    ? warning(CHECK, `It ${ends}. See why the proxy has not renewed it.`)
    : ok(CHECK, ends);
}
