/**
 * A network that has only the loopback interface, for tests: one that reaches for a registry, or any other machine, fails everywhere, not
 * only where there is no network. Each task has a separate network namespace, so that no other task has its ports.
 *
 * @module
 */
import { outputOf } from "../deno_command.ts";
import { findOnPath } from "./tools.ts";

/** Runs the command in its arguments without any network but loopback. */
const WITHOUT_NETWORK: readonly string[] = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"];

/**
 * Returns what a command is to begin with so that it has only loopback. Empty where the user isn't root or the kernel refuses:
 * the tests run with the network of the machine then, and `reason` says why.
 */
export async function withoutNetwork(): Promise<{ prefix: readonly string[]; reason?: string }> {
  if (Deno.build.os !== "linux" || Deno.uid() !== 0) return { prefix: [], reason: "only root may start them without" };
  for (const tool of ["unshare", "ip"]) {
    if (findOnPath(tool) === undefined) return { prefix: [], reason: `"${tool}" is not installed` };
  }
  const [program, ...args] = WITHOUT_NETWORK;
  const { success, stderr } = await outputOf([program!, ...args, "true"]);
  return success ? { prefix: WITHOUT_NETWORK } : { prefix: [], reason: stderr.trim() };
}
