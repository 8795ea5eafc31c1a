/**
 * Writing down what is done at the command line, where the dashboard shows it.
 *
 * @module
 */
import { userInfo } from "node:os";
import type { AuditEvent } from "../../store/admin/audit.ts";
import { printError } from "../terminal/output.ts";
import type { Store } from "../../store/admin/store.ts";

/**
 * Writes an act down. What is done is done: that it cannot be written down is said, and no more.
 *
 * @param by the part of the command line through which it was done
 * @param say where it is said
 */
export async function recordAudit(
  store: Pick<Store, "audit">,
  act: Omit<AuditEvent, "user" | "by" | "from">,
  by = "command line",
  say = (why: string): void => printError(`jobs: ${why}`),
): Promise<void> {
  try {
    await store.audit.record({ user: userName(), by, from: Deno.hostname(), ...act });
  } catch (error) {
    say(`this is not in the audit log: ${(error as Error).message}`);
  }
}

/** The name of the system's user; where its number has none, as in a container, the number. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${Deno.uid() ?? "unknown"}`;
  }
}
