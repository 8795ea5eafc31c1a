/** The names of queues, for completions. @module */
import { CONTROLS } from "../../log/control_characters.ts";
import { withStore } from "../shared/store.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { print } from "../terminal/output.ts";

/** Hidden: `jobs completions` writes the scripts that call it. */
export const help = "Usage: jobs __queues";

/** Prints a name a line, except names that aren't one line, and those that a command would read as an option. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags } = parseCommand("__queues", argv, COMMON_FLAGS, "");
  const queues = await withStore(flags, async (store) => (await store.admin.stats()).queues);
  for (const { name } of queues) if (name !== "" && !name.startsWith("-") && name.search(CONTROLS) < 0) print(name);
  return 0;
}
