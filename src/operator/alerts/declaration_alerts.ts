/**
 * Alerts about workers that declare different options of a class, or different webhooks: two versions run side by side.
 *
 * @module
 */
import { formatDuration } from "../../job/duration.ts";
import { parseLossless, stringifyLossless } from "../../job/json.ts";
import type { Declaration } from "../../store/port/classes.ts";
import { number } from "../../text/format.ts";
import { type Alert, sentence, type Situation } from "./alert.ts";

/** The detail names at most this many options. */
const MAX_OPTIONS = 3;
/** Shortens values. */
const MAX_VALUE = 60;

/** Workers that are online differ in what they have declared. */
export function declarationAlerts({ declarations = [], workers, now }: Situation): Alert[] {
  const online = new Set(workers.filter(({ alive }) => alive).map(({ id }) => id));
  const byName = new Map<string, Declaration[]>();
  for (const one of declarations) {
    if (!online.has(one.worker)) continue;
    const key = `${one.kind} ${one.name}`;
    byName.set(key, [...byName.get(key) ?? [], one]);
  }
  return [...byName.values()].flatMap((all) => {
    const [inForce] = all as [Declaration];
    const others = all.filter(({ body }) => body !== inForce.body);
    if (others.length === 0) return [];
    const what = inForce.kind === "class" ? `class ${inForce.name}` : `webhook ${inForce.name}`;
    const count = others.length === 1 ? `worker ${others[0]!.worker} has` : `${number(others.length)} workers have`;
    const differences = differencesOf(inForce, others[0]!);
    return [{
      kind: "warn",
      about: "workers",
      title: `Workers differ in the options of ${what}: those of ${inForce.worker} are in force`,
      detail: [
        `${sentence(`${differences.join("; ")}: ${count} the latter`)}.`,
        `The worker in force has declared them ${formatDuration(Math.max(0, now - inForce.since))} ago.`,
        "When it stops, those of the others are in force.",
      ].join(" "),
      command: "jobs workers",
      actions: [{ label: "Show workers", path: "/workers" }],
    }];
  });
}

/** Returns the options in which two declarations differ: `queue: "reports2", not "reports"`. */
function differencesOf(inForce: Declaration, other: Declaration): string[] {
  const [ours, theirs] = [fieldsOf(inForce.body), fieldsOf(other.body)];
  const names = [...new Set([...Object.keys(ours), ...Object.keys(theirs)])];
  const shown = (value: unknown) => value === undefined ? "none" : (stringifyLossless(value) ?? "").slice(0, MAX_VALUE);
  return names.filter((name) => shown(ours[name]) !== shown(theirs[name])).slice(0, MAX_OPTIONS)
    .map((name) => `${name}: ${shown(ours[name])}, not ${shown(theirs[name])}`);
}

function fieldsOf(body: string): Readonly<Record<string, unknown>> {
  try {
    return Object(parseLossless(body));
  } catch {
    return {};
  }
}
