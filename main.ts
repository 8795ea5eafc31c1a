/**
 * The executable: argv → a subcommand → the exit code. The only `Deno.exit`.
 *
 * @module
 */
import { runCommandLine } from "./src/cli/cli.ts";

if (import.meta.main) Deno.exit(await runCommandLine(Deno.args));
