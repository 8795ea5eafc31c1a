/**
 * Checks whether two addresses name the same file before either is opened: if SQLite opens one file by two names (hard links),
 * it keeps two logs, and damages the file.
 *
 * @module
 */

/**
 * Returns whether both addresses name the same SQLite file; false if it doesn't exist.
 *
 * @throws {StoreError} if an address is invalid
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
