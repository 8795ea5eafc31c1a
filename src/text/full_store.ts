/**
 * The remedies for a store without space, in words.
 *
 * @module
 */
import { dirname } from "node:path";
import { shellWord } from "./shell.ts";

/** Returns the command that shows what is full, and what frees space. @param url the address of the store */
export function fullStoreCure(url: string): { readonly command: string; readonly detail: string } {
  const shorter = "A shorter retention in the configuration keeps the store small: jobs help settings.";
  if (url.startsWith("sqlite:")) {
    const folder = dirname(url.slice("sqlite:".length).replace(/[?].*/, ""));
    return {
      command: `df -h ${shellWord(folder)}`,
      detail: `Delete other files on its disk, or enlarge it; stored jobs stay. ${shorter}`,
    };
  }
  if (url.startsWith("postgres")) {
    return {
      command: 'psql -c "SHOW data_directory"',
      detail:
        `Free space on the disk of its data directory and of pg_wal (df -h), or enlarge it; stored jobs stay. ${shorter}`,
    };
  }
  return {
    command: "redis-cli INFO memory",
    detail: `Raise its maxmemory, or free space on its disk (see its log); stored jobs stay. ${shorter}`,
  };
}
