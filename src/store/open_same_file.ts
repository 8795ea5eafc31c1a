/**
 * Whether two addresses lead to one file, told before either is opened: SQLite, when it opens one file by two of its names
 * (hard links), keeps two logs for it, and damages it.
 *
 * @module
 */

/**
 * Whether both are addresses of one and the same SQLite file, by whatever name; false also where there is none.
 *
 * @throws {StoreError} when one of them cannot be read
 */
export async function isSameFile(one: string, other: string): Promise<boolean> {
  if (!one.startsWith("sqlite:") || !other.startsWith("sqlite:")) return false;
  const { parseAddress } = await import("./sqlite/address.ts");
  const [file, otherFile] = await Promise.all([one, other].map(async (url) => {
    const { path } = parseAddress(url, Deno.env.get("HOME"));
    return path === ":memory:" ? undefined : await Deno.stat(path).catch(() => undefined);
  }));
  return file !== undefined && file.ino === otherFile?.ino && file.dev === otherFile.dev;
}
