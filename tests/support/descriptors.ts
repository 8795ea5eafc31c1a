/**
 * A process's file descriptors, from outside: how many it may open, and the sockets it listens on.
 *
 * @module
 */
import { runHere } from "./command.ts";

/** Lets a process open no more files until disposed. Only the soft limit changes, which may be raised again. */
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

/** The names of the Unix sockets on which a process listens; `@` for a null byte. */
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
