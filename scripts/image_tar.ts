/**
 * Files → a tar archive (POSIX ustar). All times are zero, so that the same files make the same archive.
 *
 * @module
 */

/** One member of an archive. */
export interface Member {
  /** From the root, without a leading slash: `usr/bin/jobs`. */
  readonly path: string;
  /** The content of the file; undefined for a folder. */
  readonly content?: Uint8Array;
  /** Permissions. */
  readonly mode: number;
  /** Owner and group, as one number. */
  readonly owner: number;
}

const BLOCK = 512;

/** Returns the archive of the members, in their order. */
export function tar(members: readonly Member[]): Uint8Array {
  const sizes = members.map(({ content }) => BLOCK + padded(content?.length ?? 0));
  const archive = new Uint8Array(sizes.reduce((sum, size) => sum + size, 2 * BLOCK));
  let at = 0;
  for (const [i, member] of members.entries()) {
    archive.set(header(member), at);
    if (member.content) archive.set(member.content, at + BLOCK);
    at += sizes[i]!;
  }
  return archive;
}

function padded(size: number): number {
  return Math.ceil(size / BLOCK) * BLOCK;
}

function header({ path, content, mode, owner }: Member): Uint8Array {
  const block = new Uint8Array(BLOCK);
  const write = (text: string, at: number, room: number) => {
    const bytes = new TextEncoder().encode(text);
    if (bytes.length > room) throw new RangeError(`"${text}" is too long for an archive: ${room} bytes are allowed`);
    block.set(bytes, at);
  };
  const number = (value: number, at: number, room: number) =>
    write(value.toString(8).padStart(room - 1, "0"), at, room);
  write(content ? path : `${path}/`, 0, 100);
  number(mode, 100, 8);
  number(owner, 108, 8);
  number(owner, 116, 8);
  number(content?.length ?? 0, 124, 12);
  number(0, 136, 12); // the time
  write("        ", 148, 8); // the sum is made with blanks in its place
  write(content ? "0" : "5", 156, 1);
  write("ustar\x0000", 257, 8);
  const sum = block.reduce((sum, byte) => sum + byte, 0);
  write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, 8);
  return block;
}
