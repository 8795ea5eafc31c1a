/**
 * Parses and formats amounts of memory.
 *
 * @module
 */

const UNITS: Readonly<Record<string, number>> = { "": 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 };

/**
 * Returns the bytes of an amount such as `1048576`, `512M`, `1.5G` or `64k`. `MB` and `MiB` mean `M`.
 *
 * @throws {RangeError} if the text is invalid
 */
export function parseBytes(text: string): number {
  const [, number, unit] = /^(\d+(?:\.\d+)?)\s*([kmg]?)(?:i?b)?$/i.exec(text) ?? [];
  if (number === undefined) {
    throw new RangeError(`Invalid amount "${text}"; expected bytes, or for example 64k, 512M or 1.5G`);
  }
  return Math.round(Number(number) * UNITS[unit!.toLowerCase()]!);
}

/** Returns bytes for people: `640 B`, `64 KB`, `512 MB`, `1.5 GB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${Math.round(bytes)} B`;
  if (bytes < 1024 ** 2) return `${Math.round(bytes / 1024)} KB`;
  if (bytes < 1024 ** 3) return `${Math.round(bytes / 1024 ** 2)} MB`;
  return `${Number((bytes / 1024 ** 3).toFixed(1))} GB`;
}
