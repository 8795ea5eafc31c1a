/**
 * What the header of an executable says: for which machines it is. Only of Linux's kind, ELF.
 *
 * @module
 */

/** ELF's number of a machine → our name, which is also that of Deno's targets. */
const MACHINES: Readonly<Record<number, string>> = { 62: "x86_64", 183: "aarch64" };

/** The machine that an ELF file is for: `x86_64`, `aarch64`; undefined when it is of another kind. */
export async function machineOf(path: string): Promise<string | undefined> {
  using file = await Deno.open(path);
  const header = new Uint8Array(20);
  if (await file.read(header) !== header.length) return undefined;
  if (header[0] !== 0x7f || String.fromCharCode(...header.subarray(1, 4)) !== "ELF") return undefined;
  const number = new DataView(header.buffer).getUint16(18, true);
  return MACHINES[number] ?? `machine ${number}`;
}
