/**
 * Reads pages of the audit log.
 *
 * @module
 */
import type { Context } from "hono";
import { type AuditEntry, readEvents } from "../../store/admin/audit.ts";
import type { Services, WebEnv } from "../services.ts";
import { compileGlob } from "../../operator/query/filter.ts";
import { page } from "../../store/ops/scan.ts";
import { textsIn } from "./filter.ts";
import { pageOf, spanOf } from "./paging.ts";

/** The filters of audit entries, by their names in URLs. */
export const AUDIT_FILTERS = {
  user: { label: "User", example: "ann", about: "the user, exactly; * stands for any characters" },
  action: { label: "Action", example: "delete, or cron *", about: "the action, exactly; * stands for any characters" },
  target: { label: "Target", example: "queue:default", about: "the target, exactly; * stands for any characters" },
} as const;

const NAMES = Object.keys(AUDIT_FILTERS) as (keyof typeof AUDIT_FILTERS)[];

/** Ends the details of an entry that stands for more. */
export const LOG_ONLY = "in the log only";

/** An entry, or several pushes of one user in a row, which programs repeat. */
export interface AuditRow extends AuditEntry {
  /** How many entries the row has, the earliest of them at `since`. */
  readonly folded?: { readonly entries: number; readonly since: number };
}

/** Folds pushes of one user from one address that follow each other into one row, with the sum of their jobs. */
export function foldPushes(events: readonly AuditEntry[]): AuditRow[] {
  const rows: AuditRow[] = [];
  for (const event of events) {
    const last = rows.at(-1);
    if (last === undefined || !isSamePush(last, event)) {
      rows.push(event);
      continue;
    }
    const count = (last.count ?? 1) + (event.count ?? 1);
    const { target: _, details: __, ...rest } = last;
    rows[rows.length - 1] = {
      ...rest,
      target: "",
      count,
      folded: { entries: (last.folded?.entries ?? 1) + 1, since: event.at },
    };
  }
  return rows;
}

/** An entry that says how many others the log has alone stays as it is. */
function isSamePush(a: AuditEntry, b: AuditEntry): boolean {
  if ([a, b].some(({ details }) => details?.includes(LOG_ONLY))) return false;
  return a.action === "push" && b.action === "push" && a.user === b.user && a.by === b.by && a.from === b.from &&
    a.outcome === b.outcome;
}

/** A page of the audit log. */
export interface AuditList {
  readonly events: readonly AuditEntry[];
  readonly filter: { readonly [Name in keyof typeof AUDIT_FILTERS]?: string };
  readonly cursor: string | undefined;
  /** Absent on the last page. */
  readonly next: string | undefined;
}

/** Returns the requested page. Secrets are masked: a filter in an entry may contain one. */
export async function readAuditPage(services: Services, c: Context<WebEnv>): Promise<AuditList> {
  const filter = textsIn(c, NAMES);
  const criteria = NAMES.flatMap((name) => {
    const text = filter[name];
    return text === undefined ? [] : [{ name, fits: compileGlob(text) }];
  });
  const fits = (event: AuditEntry) => criteria.every(({ name, fits }) => fits(event[name] ?? ""));
  const { rows, next } = await page(
    {
      read: async (part) => {
        const { events, next } = await readEvents(services.store, part);
        return { rows: events.map((event) => services.mask.value(event) as typeof event), next };
      },
      match: criteria.length === 0 ? undefined : (events) => Promise.resolve(events.map(fits)),
    },
    services.clock,
    spanOf(services, c),
  );
  return { events: rows, filter, cursor: pageOf(c).cursor, next };
}
