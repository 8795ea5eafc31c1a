/**
 * Maps addresses to networks, by which clients are counted. A host with one IPv6 address can use all 2^64 addresses of its
 * network, so these count as one.
 *
 * @module
 */

/** Returns the /64 network of an IPv6 address; other texts unchanged. */
export function networkOf(address: string): string {
  if (!address.includes(":") || !URL.canParse(`http://[${address}]/`)) return address;
  const [head = "", tail] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split("::") as [string, string?];
  const groups = (half: string | undefined) => (half ? half.split(":") : []);
  const zeros = tail === undefined ? 0 : 8 - groups(head).length - groups(tail).length;
  return [...groups(head), ...Array<string>(zeros).fill("0"), ...groups(tail)].slice(0, 4).join(":") + "::/64";
}
