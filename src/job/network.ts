/**
 * Which IP addresses belong to the public internet, by IANA's registries of special-purpose addresses.
 *
 * @module
 */

/** Special-purpose blocks of IPv4: first address, prefix length. */
const SPECIAL_V4: readonly (readonly [string, number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
];

/** Special-purpose blocks within 2000::/3, the only part of IPv6 in public use: first two groups, prefix length. */
const SPECIAL_V6: readonly (readonly [number, number])[] = [
  [0x2001_0000, 23],
  [0x2001_0db8, 32],
  [0x2002_0000, 16],
  [0x3fff_0000, 20],
];

/**
 * Returns whether an IP address is that of a public host: not of a private network, this machine, a link, a group, or a
 * block for documentation. An IPv4 address within an IPv6 one (mapped, NAT64) decides about it. False for any other text.
 */
export function isPublicAddress(address: string): boolean {
  const v4 = parseV4(address);
  if (v4 !== undefined) return isPublicV4(v4);
  const groups = parseV6(address);
  if (groups === undefined) return false;
  const [high, , , , , sixth] = groups;
  const last = ((groups[6]! << 16) | groups[7]!) >>> 0;
  const startsWith = (...first: number[]) => first.every((group, i) => groups[i] === group);
  if (startsWith(0, 0, 0, 0, 0) && sixth === 0xffff) return isPublicV4(last);
  if (startsWith(0x64, 0xff9b, 0, 0, 0, 0)) return isPublicV4(last);
  const top = ((high! << 16) | groups[1]!) >>> 0;
  return high! >> 13 === 1 && !SPECIAL_V6.some(([block, length]) => isWithin(top, block, length));
}

function isPublicV4(address: number): boolean {
  return !SPECIAL_V4.some(([block, length]) => isWithin(address, parseV4(block)!, length));
}

function isWithin(address: number, block: number, length: number): boolean {
  return address >>> (32 - length) === block >>> (32 - length);
}

/** Returns an IPv4 address as a number. */
function parseV4(text: string): number | undefined {
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) < 256)) return undefined;
  return parts.reduce((sum, part) => sum * 256 + Number(part), 0);
}

/** Returns the eight groups of an IPv6 address. One with a zone is of a link. */
function parseV6(text: string): number[] | undefined {
  const [, before = text, dotted] = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text) ?? [];
  const v4 = dotted === undefined ? undefined : parseV4(dotted);
  if (dotted !== undefined && v4 === undefined) return undefined;
  const whole = v4 === undefined ? text : `${before}${(v4 >>> 16).toString(16)}:${(v4 & 0xffff).toString(16)}`;
  const halves = whole.split("::");
  if (halves.length > 2) return undefined;
  const [head = [], tail] = halves.map((half) => half === "" ? [] : half.split(":"));
  const missing = 8 - head.length - (tail?.length ?? 0);
  if (tail === undefined ? missing !== 0 : missing < 1) return undefined;
  const groups = tail === undefined ? head : [...head, ...new Array<string>(missing).fill("0"), ...tail];
  return groups.every((group) => /^[0-9a-f]{1,4}$/i.test(group))
    ? groups.map((group) => parseInt(group, 16))
    : undefined;
}
