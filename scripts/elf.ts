/**
 * The header of an ELF executable, which names its machine.
 *
 * @module
 */

/** ELF's number of a machine → its name in Deno's targets. */
const MACHINES: Readonly<Record<number, string>> = { 62: "x86_64", 183: "aarch64" };

/** Returns the machine of an ELF file, such as `x86_64` or `aarch64`; undefined for other files. */
export async function machineOf(path: string): Promise<string | undefined> {
  using file = await Deno.open(path);
  const header = new Uint8Array(20);
  if (await file.read(header) !== header.length) return undefined;
  if (header[0] !== 0x7f || String.fromCharCode(...header.subarray(1, 4)) !== "ELF") return undefined;
  const number = new DataView(header.buffer).getUint16(18, true);
  return MACHINES[number] ?? `machine ${number}`;
}
