/** `jobs flow results`, in a program: the results of earlier nodes. @module */
import { endProgram, requestStep } from "../shared/step_client.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { print, printError } from "../terminal/output.ts";

/** Prints the results of nodes as a JSON object. Exit 1 if the job isn't a node of a flow. Any other error ends the program. */
export async function results(argv: readonly string[]): Promise<number> {
  try {
    const { args } = parseCommand("flow results", argv, COMMON_FLAGS, "[NODE …]");
    const end = await requestStep({ kind: "results", ...(args.length > 0 && { nodes: args }) });
    if (end.failed === undefined) print(end.value!);
    else printError(`jobs: ${end.failed}`);
    return end.failed === undefined ? 0 : 1;
  } catch (error) {
    endProgram(error);
    throw error;
  }
}
