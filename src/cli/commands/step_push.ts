/** `jobs step push`, in a program: pushes another job into the store of the worker. @module */
import { PUSH_FLAGS } from "../../job/option_names.ts";
import { stringifyLossless } from "../../job/json.ts";
import { jsonArgs } from "../../job/json_args.ts";
import { argumentsText } from "../shared/arguments.ts";
import { optionFlags, requestOf } from "../shared/option_flags.ts";
import { requestStep } from "../shared/step_client.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { print, printError } from "../terminal/output.ts";

/** Pushes a job and prints its jid. Exit 1 if it is refused. */
export async function push(argv: readonly string[]): Promise<number> {
  const flagsOf = { ...COMMON_FLAGS, ...optionFlags(PUSH_FLAGS), "in-batch": { takes: "switch" } } as const;
  const { flags, args: [name, ...rest] } = parseCommand("step push", argv, flagsOf, "CLASS [ARG …]");
  const job = stringifyLossless({ ...requestOf(name, flags), args: jsonArgs(argumentsText(rest)) })!;
  const { value, failed } = await requestStep({ kind: "push", job, inBatch: flags["in-batch"] });
  if (failed !== undefined) printError(`jobs: ${failed}`);
  else if (value === undefined) printError("jobs: duplicate: another job holds the lock; nothing enqueued");
  else print(JSON.parse(value));
  return failed === undefined ? 0 : 1;
}
