import { settingOr } from "../../../common/settings/settings.ts";
import type { Credential, RequestContext } from "../app-env.ts";
import { CONSOLE } from "../console/paths.ts";

/** Four decimal numbers up to 255, without leading zeros. */
const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;
const IPV6 = /^[\da-f:.]*:[\da-f:.]*$/i;
/** An IPv4 address in IPv6 (RFC 4291, section 2.5.5.2), as the URL parser writes it. A socket for both kinds shows IPv4 clients so. */
const IPV4_IN_IPV6 = /^::ffff:([\da-f]{1,4}):([\da-f]{1,4})$/;

/**
 * The network by which the client of a request is counted. It is in the header that CLIENT_ADDRESS_HEADER names, which the
 * platform or a proxy sets, if that has exactly one address. Otherwise it is the peer's. So where the variable is empty or
 * cannot be read, nothing that a client sends counts.
 */
export function clientAddress(c: RequestContext): string {
  const header = settingOr(c.env, "CLIENT_ADDRESS_HEADER", undefined);
  const named = header === undefined ? undefined : networkOf(c.req.header(header) ?? "");
  return named ?? networkOf(peerOf(c.req.raw)) ?? "unknown";
}

/** The credentials of integrators and operators. Those of viewers are not among them. */
const KEYS: readonly Credential["kind"][] = ["api_key", "operator_key", "bootstrap"];

/**
 * The client as the log line has it, by LOG_CLIENT_ADDRESS: `refused` is that of a refused request and of one to the console, and
 * `credentials` also that of a call with a key. While the setting cannot be read, none is logged, which is the safe reading of personal data.
 */
export function loggedClient(c: RequestContext, status: number): string | undefined {
  const logged = settingOr(c.env, "LOG_CLIENT_ADDRESS", "none");
  const isRefused = status >= 400 || c.req.path.startsWith(CONSOLE);
  const hasKey = KEYS.includes(c.get("credential")?.kind ?? "none");
  const isLogged = { all: true, none: false, refused: isRefused, credentials: isRefused || hasKey }[logged];
  return isLogged ? clientAddress(c) : undefined;
}

/** The address of the connection's other end. workerd sets it with its port; Cloudflare leaves it out. */
function peerOf({ cf }: Request): string {
  const peer: unknown = cf && Reflect.get(cf, "clientIp");
  const [, ipv6, ipv4] = /^(?:\[(.*)\]|([^:]*))(?::\d+)?$/.exec(typeof peer === "string" ? peer : "") ?? [];
  return ipv6 ?? ipv4 ?? "";
}

/**
 * An IPv4 address whole, and of an IPv6 address its /64, the smallest network that one customer of a provider has (RFC 6177).
 * `undefined` for anything else.
 */
function networkOf(address: string): string | undefined {
  if (IPV4.test(address)) return address;
  const hostname = IPV6.test(address) ? hostnameOf(`[${address}]`) : undefined;
  if (hostname === undefined) return undefined;
  const ipv6 = hostname.slice(1, -1);
  const halves = IPV4_IN_IPV6.exec(ipv6)?.slice(1) ?? [];
  if (halves.length > 0) return halves.flatMap(bytesOf).join(".");
  return `${groupsOf(ipv6).slice(0, 4).join(":")}::/64`;
}

/** The host as the URL parser writes it: in lower case, IPv4 in four decimal numbers, and IPv6 without IPv4 or leading zeros. */
const hostnameOf = (host: string): string | undefined =>
  URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : undefined;

/** The two bytes of a group in hexadecimal. */
const bytesOf = (group: string): number[] => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff];

/** The eight groups of an IPv6 address, with `::` expanded. */
function groupsOf(ipv6: string): string[] {
  const [head = "", tail] = ipv6.split("::");
  const groups = (text: string) => (text === "" ? [] : text.split(":"));
  const zeros = tail === undefined ? 0 : 8 - groups(head).length - groups(tail).length;
  return [...groups(head), ...Array<string>(zeros).fill("0"), ...groups(tail ?? "")];
}
