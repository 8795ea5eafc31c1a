/**
 * The pushes of an author with limits.
 *
 *  1. A scope names classes and queues, and each other field that addresses something by name stays within them: otherwise a token
 *     for `Mail` could hold the lock of `Report`, answer for its pushes, or delete its steps.
 *  2. An author that deletes nothing replaces nothing, either, be it by an option of the push or of its class.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { performedClass } from "../../job/job.ts";
import type { OptionsOn } from "../../job/options.ts";
import { type ClassOptions, type JobRequest, merge } from "../../job/payload.ts";
import { isLockKey } from "../../job/push_keys.ts";
import { Refused } from "../../operator/actions/action.ts";
import type { Services } from "../services.ts";
import { checkReplaces, type Scope } from "../../operator/actions/scope.ts";
import type { Visitor } from "./gate.ts";

/**
 * - `free`: any value
 * - `class`: a class of the scope, if it lists classes
 * - `queue`: a queue of the scope; without a list of queues, an existing one, or one of the scope's classes
 * - `key`: any text. The store compares it within class and queue, unless it is the key of a lock itself
 * - `name`: any text. It becomes a name of this token alone
 * - `never`: refused
 */
type ScopeRule = "free" | "class" | "queue" | "key" | "name" | "never";

/** The rule for each field of a push. An option without a rule is a type error. */
export const PUSH_SCOPE: Readonly<Record<keyof OptionsOn<"push"> | "class" | "args" | "fields", ScopeRule>> = {
  class: "class",
  args: "free",
  // Fields that only the store writes are refused for every visitor.
  fields: "free",
  queue: "queue",
  // Within a queue that the token may fill. Operators limit groups by these names.
  group: "free",
  priority: "free",
  in: "free",
  at: "free",
  retry: "free",
  retry_for: "free",
  retry_queue: "queue",
  backoff: "free",
  dead: "free",
  timeout: "free",
  expires_in: "free",
  unique_for: "free",
  unique_key: "key",
  unique_until: "free",
  on_duplicate: "free",
  debounce: "free",
  debounce_key: "key",
  debounce_max: "free",
  throttle: "free",
  throttle_key: "key",
  result_ttl: "free",
  failure_ttl: "free",
  backtrace: "free",
  log_level: "free",
  tags: "free",
  notify: "free",
  // Pages and filters show the job under this class.
  display_class: "class",
  wrapped: "class",
  // A batch pushes its callbacks when its members end, of any class and queue.
  batch: "never",
  // Results and steps are kept under the jid.
  jid: "never",
  id: "name",
  within: "free",
  created_at: "free",
};

export interface ScopedToken {
  readonly name: string;
  readonly scope: Scope;
  /** The queues that it may push to without a list of queues in its scope. */
  readonly queues: ReadonlySet<string>;
  /** The options of the classes that it pushes. Default: none. */
  readonly options?: ReadonlyMap<string, ClassOptions>;
}

const WHY_NEVER: Readonly<Record<string, string>> = {
  batch: "can't add to a batch: its callbacks may be of other classes and queues",
  jid: "can't choose a jid: it may be that of another job; set an id instead",
};
/** The longest `id`. */
const MAX_ID_CHARS = 200;

/**
 * Returns a push as a limited token may make it.
 *
 * @throws {Refused} if it is outside of the scope
 */
export function withinScope(request: JobRequest, token: ScopedToken): JobRequest {
  const { name, scope, queues, options } = token;
  const { classes, queues: listed } = scope;
  const merged = merge(request, options?.get(request.class) ?? {});
  checkReplaces(scope, merged);
  if (isLockKey(request.unique_key)) {
    throw forbidden(
      "A role with limits may not name a lock of the store: expected a text of another form",
      "unique_key",
    );
  }
  if (!isNamed(scope)) return request;
  if (classes !== undefined && !classes.includes(performedClass(merged))) {
    throw forbidden(`This token may push only ${classes.join(", ")}`, "class");
  }
  // The class's options could choose another queue.
  if (listed !== undefined && request.queue === undefined) {
    throw forbidden(`This token may push only to ${listed.join(", ")}: set "queue"`, "queue");
  }
  let { id } = request;
  for (const [field, rule] of Object.entries(PUSH_SCOPE)) {
    const value = request[field];
    if (value === undefined) continue;
    if (rule === "never") {
      throw forbidden(`A token that is limited to classes or queues ${WHY_NEVER[field]}`, field);
    }
    if (rule === "class" && classes !== undefined && !classes.includes(value as string)) {
      throw forbidden(`This token may push only ${classes.join(", ")}`, field);
    }
    if (rule === "queue" && listed !== undefined && !listed.includes(value as string)) {
      throw forbidden(`This token may push only to ${listed.join(", ")}`, field);
    }
    if (rule === "queue" && listed === undefined && typeof value === "string" && !queues.has(value)) {
      const why = "neither an existing queue nor one of its classes";
      throw forbidden(`This token may not push to queue "${value.slice(0, 80)}": it is ${why}`, field);
    }
    if (rule === "key" && isLockKey(value)) {
      throw forbidden(`This token may not name a lock of the store: expected a text of another form`, field);
    }
    if (rule === "name" && typeof value === "string" && value !== "" && value.length <= MAX_ID_CHARS) {
      id = nameOf(name, value);
    }
  }
  return id === undefined ? request : { ...request, id };
}

function forbidden(message: string, field: string): Refused {
  return new Refused("forbidden", message, { field });
}

/** Whether a scope names the classes or queues of pushes. */
function isNamed({ classes, queues }: Scope): boolean {
  return classes !== undefined || queues !== undefined;
}

/** Returns the queues that pushes name. They aren't checked yet. */
function queuesIn(requests: readonly unknown[]): string[] {
  const names = requests.flatMap((request) => {
    const { queue, retry_queue } = Object(request) as Record<string, unknown>;
    return [queue, retry_queue].filter((name) => typeof name === "string");
  });
  return [...new Set(names)];
}

/**
 * Returns the bounds of a visitor's pushes; undefined without any.
 *
 * @param requests the jobs of one request: a limited token can't evade its rate by lists
 */
export async function pushBounds(
  { queues: known, tokens, client }: Pick<Services, "queues" | "tokens" | "client">,
  { name, scope }: Pick<Visitor, "name" | "scope">,
  requests: readonly unknown[],
): Promise<((request: JobRequest) => JobRequest) | undefined> {
  if (scope === undefined || !isNamed(scope) && scope.deletes !== false) return undefined;
  const { classes, queues } = scope;
  if (isNamed(scope)) tokens.spend(name, Math.max(0, requests.length - 1));
  const needsQueues = isNamed(scope) && queues === undefined;
  const token: ScopedToken = {
    name,
    scope,
    queues: needsQueues ? await known.of(classes ?? [], queuesIn(requests)) : new Set<string>(),
    options: await optionsIn(client, requests),
  };
  return (request) =>
    typeof request === "object" && request !== null && !Array.isArray(request) ? withinScope(request, token) : request;
}

/** Returns the options of the classes that pushes name. */
async function optionsIn(
  client: Services["client"],
  requests: readonly unknown[],
): Promise<ReadonlyMap<string, ClassOptions>> {
  const names = new Set(requests.map((request) => (Object(request) as Record<string, unknown>)["class"]));
  const read = [...names].filter((name) => typeof name === "string").map(async (name) =>
    [name, await client.optionsOf(name)] as const
  );
  return new Map(await Promise.all(read));
}

/** Returns a name that no other token has: names of tokens contain no colon. */
function nameOf(token: string, name: string): string {
  const own = `${token}:${name}`;
  return own.length <= MAX_ID_CHARS ? own : `${token}:${createHash("sha256").update(name).digest("base64url")}`;
}
