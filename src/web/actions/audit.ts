/**
 * Records each action of a visitor in the log and in the store's audit log.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { AuditEvent } from "../../store/admin/audit.ts";
import type { RefusedLogin, Visitor } from "../auth/gate.ts";
import type { Services } from "../services.ts";

/** The store's entry, without the visitor. */
export type AuditDetails = Omit<AuditEvent, "user" | "by" | "from" | "action">;

/** The log line. */
interface AuditLine {
  readonly action: string;
  readonly [field: string]: unknown;
}

/** The author of an event. */
type Author = Pick<Visitor, "name" | "address"> & { readonly by: string };

/**
 * Records an action. A failure of the store is logged and doesn't fail the action, which has already happened.
 *
 * @param details absent: records in the log only
 */
export async function recordAudit(
  services: Services,
  { name, by, address }: Author,
  line: AuditLine,
  details?: AuditDetails,
): Promise<void> {
  services.audit.info("Acted", { user: name, by, address, outcome: details?.outcome, ...line });
  if (details !== undefined) await store(services, { user: name, by, from: address, action: line.action, ...details });
}

/**
 * Records an event that programs, or visitors without the right to act, can repeat without end. The log has each of them. The
 * audit log has the first ones, and the number of those that it leaves out: a flood must not drive out the other entries.
 *
 * @param kind events of one kind share a bound
 */
export async function recordBounded(
  services: Services,
  author: Author,
  { kind, line, details }: { readonly kind: string; readonly line: AuditLine; readonly details: AuditDetails },
): Promise<void> {
  const omitted = services.auditBounds.admit(kind);
  if (omitted === undefined) return await recordAudit(services, author, line);
  const more = omitted === 0 ? undefined : `${omitted} more since the entry before are in the log only`;
  const text = [details.details, more].filter((one) => one !== undefined).join("; ");
  await recordAudit(services, author, line, { ...details, ...(text !== "" && { details: text }) });
}

async function store(services: Services, event: AuditEvent): Promise<void> {
  try {
    await services.store.audit.record(event);
  } catch (error) {
    services.log.error("Failed to store an audit entry", { action: event.action, error: (error as Error).message });
  }
}

/** Records what programs do by the thousand: pushes, signals. With a token, the log alone has it. */
export async function recordPush(
  services: Services,
  visitor: Visitor,
  line: AuditLine,
  details: AuditDetails,
): Promise<void> {
  if (visitor.by === "token" || visitor.role === "push") return await recordAudit(services, visitor, line);
  await recordBounded(services, visitor, { kind: `push:${visitor.name}`, line, details });
}

/** Records a login that was refused. Its kind has no name: anyone can send any. */
export async function recordRefusedLogin(
  services: Services,
  { name, address, waitMs }: RefusedLogin,
): Promise<void> {
  const outcome = waitMs === undefined
    ? "refused: wrong name, password or token"
    : `refused: too many failures, wait ${Math.ceil(waitMs / 1_000)} s`;
  const author = { name: name || "(unknown)", by: "login", address };
  await recordBounded(services, author, { kind: "login", line: { action: "login", outcome }, details: { outcome } });
}

/** Records a request that the visitor's role, scope or origin doesn't allow. */
export async function recordRefused(
  services: Services,
  visitor: Visitor,
  { target, reason }: { readonly target: string; readonly reason: string },
): Promise<void> {
  const outcome = `refused: ${reason}`;
  const kind = `refused:${visitor.name}`;
  await recordBounded(services, visitor, {
    kind,
    line: { action: "request", target, outcome },
    details: { target, outcome },
  });
}

/** Entries of one kind at once. */
const BURST = 100;
/** After them, one more in this time: the entries of a day are a small part of those that the store keeps. */
const REFILL_MS = 5 * 60_000;
/** Kinds in memory. Beyond this, the oldest are forgotten. */
const MAX_KINDS = 1_000;

/** Bounds the entries that visitors can cause without acting. */
export class AuditBounds {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #kinds = new Map<string, { left: number; since: number; omitted: number }>();

  /** @param clock times the bound */
  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** Returns how many events of this kind were left out since the last entry; undefined if this one is left out, too. */
  admit(kind: string): number | undefined {
    const now = this.#clock.monotonic();
    const state = this.#kinds.get(kind) ?? { left: BURST, since: now, omitted: 0 };
    this.#kinds.set(kind, state);
    if (this.#kinds.size > MAX_KINDS) this.#kinds.delete(this.#kinds.keys().next().value!);
    state.left = Math.min(BURST, state.left + (now - state.since) / REFILL_MS);
    state.since = now;
    if (state.left < 1) {
      state.omitted++;
      return undefined;
    }
    state.left--;
    const { omitted } = state;
    state.omitted = 0;
    return omitted;
  }
}
