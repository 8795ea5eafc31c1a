/**
 * The audit log of actions at the command line, which the dashboard shows.
 *
 * @module
 */
import { userInfo } from "node:os";
import type { AuditEvent } from "../../store/admin/audit.ts";
import { printError } from "../terminal/output.ts";
import type { Store } from "../../store/admin/store.ts";

/**
 * Records an action. A failure to record is only reported, because the action itself has succeeded.
 *
 * @param by the part of the command line that acted
 * @param report prints a failure to record
 */
export async function recordAudit(
  store: Pick<Store, "audit">,
  action: Omit<AuditEvent, "user" | "by" | "from">,
  by = "command line",
  report = (why: string): void => printError(`jobs: ${why}`),
): Promise<void> {
  try {
    await store.audit.record({ user: userName(), by, from: Deno.hostname(), ...action });
  } catch (error) {
    report(`not recorded in the audit log: ${(error as Error).message}`);
  }
}

/** Returns the name of the system's user; its number if it has no name, as in a container. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${Deno.uid() ?? "unknown"}`;
  }
}
