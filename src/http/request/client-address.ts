/**
 * The address by which a client is counted: IPv4 whole, IPv6 by its /64, the smallest network that one customer of a
 * provider has (RFC 6177). Anything else, such as a missing header in local runs, is taken as it is.
 */
export function clientAddress(address: string | undefined): string {
  if (!address?.includes(":") || !URL.canParse(`http://[${address}]`)) return address ?? "unknown";
  // The URL parser expands embedded IPv4 and lower-cases. Only `::` remains to be expanded.
  const [head = "", tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::");
  const groups = (text: string) => (text === "" ? [] : text.split(":"));
  const zeros = tail === undefined ? 0 : 8 - groups(head).length - groups(tail).length;
  const all = [...groups(head), ...Array(zeros).fill("0"), ...groups(tail ?? "")];
  return `${all.slice(0, 4).join(":")}::/64`;
}
