/**
 * Records each action of a visitor in the log and in the store's audit log.
 *
 * @module
 */
import { allows } from "./auth/access.ts";
import type { Clock } from "../clock.ts";
import type { Author, EventKind } from "../operator/actions/action.ts";
import { type AuditEvent, recordEvent } from "../store/admin/audit.ts";
import type { RefusedLogin, Visitor } from "./auth/gate.ts";
import { LOG_ONLY } from "./read/audit.ts";
import type { Services } from "./services.ts";

/**
 * Records an action of a visitor. Programs push and signal by the thousand: with a token, the log alone has it.
 *
 * @param kind events other than rare ones are bounded
 */
export async function recordAction(
  services: Services,
  visitor: Visitor,
  event: AuditEvent,
  kind: EventKind,
): Promise<void> {
  if (kind === "rare") return await record(services, event);
  const isProgram = visitor.by === "token" || !allows("visit", visitor.role);
  if (kind === "frequent" && isProgram) return log(services, event);
  await recordBounded(services, `${kind}:${visitor.name}`, event);
}

/** Records an event. A failure of the store is logged and doesn't fail the action, which has already happened. */
async function record(services: Services, event: AuditEvent): Promise<void> {
  log(services, event);
  try {
    await recordEvent(services.store, event);
  } catch (error) {
    services.log.error("Failed to store an audit entry", { action: event.action, error: (error as Error).message });
  }
}

function log(services: Services, event: AuditEvent): void {
  services.audit.info("Acted", { ...event });
}

/**
 * Records an event that programs, or visitors without the right to act, can repeat without end. The log has each of them. The
 * audit log has the first ones, and the number of those that it leaves out: a flood must not drive out the other entries.
 *
 * @param kind events of one kind share a bound
 */
async function recordBounded(services: Services, kind: string, event: AuditEvent): Promise<void> {
  const omitted = services.auditBounds.admit(kind);
  if (omitted === undefined) return log(services, event);
  const more = omitted === 0 ? undefined : `${omitted} more since the entry before are ${LOG_ONLY}`;
  const details = [event.details, more].filter((one) => one !== undefined).join("; ");
  await record(services, { ...event, ...(details !== "" && { details }) });
}

/** Records a login that was refused. Its kind has no name: anyone can send any. */
export async function recordRefusedLogin(
  services: Services,
  { name, address, waitMs }: RefusedLogin,
): Promise<void> {
  const outcome = waitMs === undefined
    ? "refused: wrong name, password or token"
    : `refused: too many failures, wait ${Math.ceil(waitMs / 1_000)} s`;
  const event = { user: name || "(unknown)", by: "login", from: address, action: "login", outcome };
  await recordBounded(services, "login", event);
}

/** Records a request that the visitor's role, scope or origin doesn't allow. */
export async function recordRefused(
  services: Services,
  visitor: Visitor,
  { target, reason }: { readonly target: string; readonly reason: string },
): Promise<void> {
  const event = { ...authorOf(visitor), action: "request", target, outcome: `refused: ${reason}` };
  await recordBounded(services, `refused:${visitor.name}`, event);
}

/** Returns the author of a visitor's events. */
export function authorOf({ name, by, address }: Visitor): Author {
  return { user: name, by, from: address };
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
