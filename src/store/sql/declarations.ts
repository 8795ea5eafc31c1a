/**
 * The declarations of each worker: options of classes, and webhooks. They end with their worker: what it declared last is in force no longer
 * if another one has declared the same. The tables `class` and `webhook` have those in force.
 *
 * @module
 */
import type { Declaration } from "../port/classes.ts";
import { type Body, lock, query } from "./body.ts";

/** The kinds of names. A worker has one of the last kind if it has declared all webhooks that it knows. */
export const CLASS = "class ";
export const WEBHOOK = "webhook ";
export const HAS_WEBHOOKS = "webhooks";

/** Lets the changes of declarations of several workers follow each other. */
export function holdDeclarations(): ReturnType<typeof lock> {
  return lock("declarations");
}

/** Stores a declaration. Returns whether it is another than before: unchanged, it counts since its first time. */
export function* declareAs(
  worker: string,
  { name, body, position }: { readonly name: string; readonly body: string; readonly position: number },
  now: number,
): Body<boolean> {
  const changed = yield query(
    `INSERT INTO declaration (worker, name, body, position, since) VALUES (?1, ?2, ?3, ?4, ?5)
     ON CONFLICT (worker, name) DO UPDATE SET body = ?3, position = ?4, since = ?5
     WHERE declaration.body <> ?3 OR declaration.position <> ?4 RETURNING 1`,
    [worker, name, body, position, now],
  );
  return changed.length > 0;
}

/** Removes the declarations of a worker that has ended, and puts those of others in force in their place. */
export function* withdraw(worker: string): Body<void> {
  const had = yield query("SELECT 1 FROM declaration WHERE worker = ?1 LIMIT 1", [worker]);
  if (had.length === 0) return;
  yield holdDeclarations();
  const gone = yield query("DELETE FROM declaration WHERE worker = ?1 RETURNING name", [worker]);
  const names = gone.map(({ name }) => String(name)).sort();
  for (const name of names.filter((name) => name.startsWith(CLASS))) {
    yield query(
      `UPDATE class SET options = (SELECT body FROM declaration WHERE name = ?1 ORDER BY since DESC, worker DESC LIMIT 1)
        WHERE name = ?2 AND EXISTS (SELECT 1 FROM declaration WHERE name = ?1)`,
      [name, name.slice(CLASS.length)],
    );
  }
  if (names.includes(HAS_WEBHOOKS)) yield* mergeWebhooks();
}

/**
 * Puts the webhooks of all workers in force: of each name the latest declaration. Without a worker that has declared webhooks, those in
 * force stay: an operator may end something while all workers are stopped.
 */
export function* mergeWebhooks(): Body<void> {
  const rows = yield query(
    `SELECT name, body FROM declaration WHERE name = '${HAS_WEBHOOKS}' OR (name > '${WEBHOOK}' AND name < 'webhook!')
      ORDER BY since DESC, worker DESC, position`,
  );
  if (!rows.some(({ name }) => name === HAS_WEBHOOKS)) return;
  const merged = new Map<string, string>();
  for (const { name, body } of rows) {
    if (name !== HAS_WEBHOOKS && !merged.has(String(name))) merged.set(String(name), String(body));
  }
  yield* putWebhooks(`[${[...merged.values()].join(",")}]`);
}

/** Puts webhooks in force. */
export function* putWebhooks(subscriptions: string): Body<void> {
  yield query(
    "INSERT INTO webhook (id, subscriptions) VALUES (1, ?1) ON CONFLICT (id) DO UPDATE SET subscriptions = ?1",
    [subscriptions],
  );
}

/** Returns the declarations of all workers, the latest first: of each name, that one is in force. */
export function* declarations(): Body<Declaration[]> {
  const rows = yield query(
    `SELECT worker, name, body, since FROM declaration WHERE name <> '${HAS_WEBHOOKS}' ORDER BY since DESC, worker DESC, position, name`,
  );
  return rows.map((row) => {
    const [kind, ...name] = String(row.name).split(" ");
    return {
      kind: kind as Declaration["kind"],
      name: name.join(" "),
      worker: String(row.worker),
      body: String(row.body),
      since: Number(row.since),
    };
  });
}
