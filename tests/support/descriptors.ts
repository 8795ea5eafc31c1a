/**
 * The file descriptors of another process: the number that it may open, and the sockets on which it listens.
 *
 * @module
 */
import { runHere } from "./command.ts";

/** Prevents a process from opening files until disposal. Changes only the soft limit, which can be raised again. */
export async function exhaustDescriptors(pid: number): Promise<AsyncDisposable> {
  const limit = async (value: string) => {
    await runHere("prlimit", ["--pid", `${pid}`, `--nofile=${value}:`]);
  };
  const before = await runHere("prlimit", ["--pid", `${pid}`, "--nofile", "--noheadings", "--output=SOFT"]);
  const open = new Set((await Array.fromAsync(Deno.readDir(`/proc/${pid}/fd`))).map(({ name }) => Number(name)));
  let lowestFree = 0;
  while (open.has(lowestFree)) lowestFree++;
  await limit(`${lowestFree}`);
  return { [Symbol.asyncDispose]: () => limit(before) };
}

/** Returns the names of the Unix sockets on which a process listens, with `@` for a null byte. */
export async function listeningSockets(pid: number): Promise<string[]> {
  const inodes = new Set<string>();
  for await (const { name } of Deno.readDir(`/proc/${pid}/fd`)) {
    const link = await Deno.readLink(`/proc/${pid}/fd/${name}`).catch(() => "");
    const inode = /^socket:\[(\d+)\]$/.exec(link)?.[1];
    if (inode !== undefined) inodes.add(inode);
  }
  const ACCEPTS = "00010000";
  const lines = (await Deno.readTextFile("/proc/net/unix")).split("\n").map((line) => line.split(/\s+/));
  return lines.filter(([, , , flags, , , inode]) => flags === ACCEPTS && inodes.has(inode ?? ""))
    .map(([, , , , , , , path]) => path ?? "");
}
