/**
 * Writing down what visitors do: a line in the log, and an act that the store keeps.
 *
 * @module
 */
import type { AuditEvent } from "../../store/admin/audit.ts";
import type { Visitor } from "../auth/gate.ts";
import type { Services } from "../services.ts";

/** What the store keeps of it; who it was is known. */
export type AuditDetails = Omit<AuditEvent, "user" | "by" | "from" | "action">;

/** What is written to the log. */
interface Line {
  readonly action: string;
  readonly [field: string]: unknown;
}

/**
 * Writes down what a visitor did. What is done is done: when the store cannot keep it, the log says so, and the action
 * stands.
 *
 * @param deed absent: only the log has it
 */
export async function recordAudit(
  services: Services,
  visitor: Visitor,
  line: Line,
  deed?: AuditDetails,
): Promise<void> {
  const { name, by, address } = visitor;
  services.audit.info("Acted", { user: name, by, address, ...line, outcome: deed?.outcome });
  if (deed === undefined) return;
  try {
    await services.store.audit.record({ user: name, by, from: address, action: line.action, ...deed });
  } catch (error) {
    services.log.error("Audit could not be kept in the store", {
      action: line.action,
      error: (error as Error).message,
    });
  }
}
