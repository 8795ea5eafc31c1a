/**
 * Records each action of a visitor in the log and in the store's audit log.
 *
 * @module
 */
import type { AuditEvent } from "../../store/admin/audit.ts";
import type { Visitor } from "../auth/gate.ts";
import type { Services } from "../services.ts";

/** The store's entry, without the visitor. */
export type AuditDetails = Omit<AuditEvent, "user" | "by" | "from" | "action">;

/** The log line. */
interface AuditLine {
  readonly action: string;
  readonly [field: string]: unknown;
}

/**
 * Records an action. A failure of the store is logged and doesn't fail the action, which has already happened.
 *
 * @param details absent: records in the log only
 */
export async function recordAudit(
  services: Services,
  visitor: Visitor,
  line: AuditLine,
  details?: AuditDetails,
): Promise<void> {
  const { name, by, address } = visitor;
  services.audit.info("Acted", { user: name, by, address, ...line, outcome: details?.outcome });
  if (details === undefined) return;
  try {
    await services.store.audit.record({ user: name, by, from: address, action: line.action, ...details });
  } catch (error) {
    services.log.error("Failed to store an audit entry", {
      action: line.action,
      error: (error as Error).message,
    });
  }
}
