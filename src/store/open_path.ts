/**
 * The address of a SQLite file. In an address, some characters of a path have a meaning.
 *
 * @module
 */

/** Returns the address of the file at a path, which is read back as the same path. */
export function sqliteUrl(path: string): string {
  // Two slashes begin a host, and these words have a meaning.
  const plain = path.replace(/^\/+/, "/").replace(/^(?=~\/|:memory:)/, "./");
  if (!/[?%]/.test(plain)) return `sqlite:${plain}`;
  return `sqlite://${plain.replaceAll("%", "%25").replaceAll("?", "%3F")}`;
}
