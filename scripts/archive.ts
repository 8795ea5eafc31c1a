/**
 * Files → an archive: tar (POSIX ustar), ar (of a Debian package) or zip (of a Python wheel). All members have one time, so that the
 * same files make the same archive.
 *
 * @module
 */
import { crc32 } from "node:zlib";

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

/** Returns a file with the text or bytes as its content, of root. */
export function file(path: string, content: string | Uint8Array, mode = 0o644): Member {
  return { path, content: typeof content === "string" ? new TextEncoder().encode(content) : content, mode, owner: 0 };
}

/** Returns the members and their parent folders, each once, parents first. */
export function withParents(members: readonly Member[]): Member[] {
  const all = new Map<string, Member>();
  for (const { path } of members) {
    const parts = path.split("/");
    for (let i = 1; i < parts.length; i++) {
      const parent = parts.slice(0, i).join("/");
      all.set(parent, { path: parent, mode: 0o755, owner: 0 });
    }
  }
  for (const member of members) all.set(member.path, member);
  return [...all.values()].sort((a, b) => a.path < b.path ? -1 : 1);
}

/**
 * Returns the tar archive of the members, in their order.
 *
 * @param time the time of all members, in seconds
 */
export function tar(members: readonly Member[], time = 0): Uint8Array {
  const sizes = members.map(({ content }) => BLOCK + padded(content?.length ?? 0));
  const archive = new Uint8Array(sizes.reduce((sum, size) => sum + size, 2 * BLOCK));
  let at = 0;
  for (const [i, member] of members.entries()) {
    archive.set(header(member, time), at);
    if (member.content) archive.set(member.content, at + BLOCK);
    at += sizes[i]!;
  }
  return archive;
}

function padded(size: number): number {
  return Math.ceil(size / BLOCK) * BLOCK;
}

function header({ path, content, mode, owner }: Member, time: number): Uint8Array {
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
  number(time, 136, 12);
  write("        ", 148, 8); // the sum is made with blanks in its place
  write(content ? "0" : "5", 156, 1);
  write("ustar\x0000", 257, 8);
  const sum = block.reduce((sum, byte) => sum + byte, 0);
  write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, 8);
  return block;
}

/** Returns the ar archive of the members. Their names may have 16 characters. */
export function ar(members: readonly Member[], time: number): Uint8Array {
  return joined([
    encoded("!<arch>\n"),
    ...members.flatMap(({ path, content = new Uint8Array(), mode, owner }) => {
      const numbers = [
        `${time}`.padEnd(12),
        `${owner}`.padEnd(6),
        `${owner}`.padEnd(6),
        `100${mode.toString(8)}`.padEnd(8),
      ];
      const header = [path.padEnd(16), ...numbers, `${content.length}`.padEnd(10), "`\n"].join("");
      return [encoded(header), content, encoded(content.length % 2 === 1 ? "\n" : "")];
    }),
  ]);
}

/** Returns the zip archive of the files, not compressed. */
export function zip(files: readonly Member[], time: number): Uint8Array {
  const date = new Date(time * 1000);
  const day = (date.getUTCFullYear() - 1980) << 9 | (date.getUTCMonth() + 1) << 5 | date.getUTCDate();
  const clock = date.getUTCHours() << 11 | date.getUTCMinutes() << 5 | date.getUTCSeconds() >> 1;
  const parts: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let at = 0;
  for (const { path, content = new Uint8Array(), mode } of files) {
    const name = encoded(path);
    // Version, flags (names in UTF-8), method, time, date, checksum, sizes, length of the name and of more fields.
    const common: Field[] = [[2, 20], [2, 0x800], [2, 0], [2, clock], [2, day], [4, crc32(content)]];
    common.push([4, content.length], [4, content.length], [2, name.length], [2, 0]);
    const local = littleEndian([[4, 0x04034b50], ...common]);
    // A comment, disk, attributes: those of Unix in the upper half.
    const rest: Field[] = [[2, 0], [2, 0], [2, 0], [4, (0o100000 | mode) * 0x10000], [4, at]];
    directory.push(littleEndian([[4, 0x02014b50], [2, 0x0314], ...common, ...rest]), name);
    parts.push(local, name, content);
    at += local.length + name.length + content.length;
  }
  const size = directory.reduce((sum, { length }) => sum + length, 0);
  const count: Field = [2, files.length];
  const end = littleEndian([[4, 0x06054b50], [2, 0], [2, 0], count, count, [4, size], [4, at], [2, 0]]);
  return joined([...parts, ...directory, end]);
}

/** An unsigned number and the bytes that it takes. */
type Field = readonly [bytes: 2 | 4, value: number];

function littleEndian(fields: readonly Field[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(fields.reduce((sum, [bytes]) => sum + bytes, 0)));
  let at = 0;
  for (const [bytes, value] of fields) {
    if (bytes === 2) view.setUint16(at, value, true);
    else view.setUint32(at, value, true);
    at += bytes;
  }
  return new Uint8Array(view.buffer);
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function encoded(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
