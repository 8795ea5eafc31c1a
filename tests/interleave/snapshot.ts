/**
 * The outcome of two verbs: what the store has, without what depends on the moment.
 *
 * @module
 */

/** Rows of the store as JSON, each with the name of its table. Numbers of rows are replaced by names, and versions are left out. */
const TABLES: Readonly<Record<string, string>> = {
  job: `SELECT job.jid, payload, batch, (
      SELECT json_agg(place ORDER BY place) FROM (
        SELECT 'queue ' || coalesce((SELECT name FROM jobs.queue_row WHERE id = queued.queue), '(none)') AS place
          FROM jobs.queued WHERE job = job.id
        UNION ALL SELECT 'running ' || coalesce((SELECT worker FROM jobs.lease_worker WHERE id = worker_id), '(none)')
          || ' of ' || coalesce((SELECT name FROM jobs.queue_row WHERE id = lease.queue), '(none)') || coalesce(' cancelled ' || cancelled, '')
          FROM jobs.lease WHERE job = job.id
        UNION ALL SELECT place || ' ' || at FROM jobs.member WHERE job = job.id) AS one) AS places FROM jobs.job`,
  lost:
    `SELECT job FROM (SELECT job FROM jobs.queued UNION ALL SELECT job FROM jobs.lease UNION ALL SELECT job FROM jobs.member) AS one
    WHERE job NOT IN (SELECT id FROM jobs.job)`,
  queue: `SELECT name, size, grouped, paused, paused_until, most_running, most_starts, starts_per FROM jobs.queue
    WHERE size <> 0 OR grouped <> 0 OR paused <> 0 OR most_running IS NOT NULL OR most_starts IS NOT NULL`,
  total: `SELECT name, count FROM jobs.total WHERE count <> 0`,
  group_limit:
    `SELECT (SELECT name FROM jobs.queue_row WHERE id = queue) AS queue, name, most_running, weight FROM jobs.group_limit`,
  group_pause: `SELECT (SELECT name FROM jobs.queue_row WHERE id = queue) AS queue, name, until FROM jobs.group_pause`,
  unique_lock: `SELECT key, jid, expires FROM jobs.unique_lock`,
  once_key: `SELECT key, jid, expires, fingerprint FROM jobs.once_key`,
  debounce: `SELECT key, (SELECT jid FROM jobs.job WHERE id = job) AS job, first FROM jobs.debounce`,
  throttled: `SELECT key, jid, at FROM jobs.throttled`,
  worker: `SELECT id, deadline, suspects, alone, judged, ended FROM jobs.worker`,
  worker_name: `SELECT name, worker, expires FROM jobs.worker_name`,
  command: `SELECT worker, body FROM jobs.command`,
  class: `SELECT name, options FROM jobs.class`,
  webhook: `SELECT subscriptions FROM jobs.webhook`,
  event: `SELECT at, body FROM jobs.event`,
  cron: `SELECT name, definition, state, live, awaited, seen_at, shared, tags, next FROM jobs.cron`,
  cron_tag: `SELECT tag, name FROM jobs.cron_tag`,
  cron_counter: `SELECT entries FROM jobs.cron_counter`,
  step: `SELECT jid, name, record FROM jobs.step`,
  step_wait: `SELECT key, jid, name, until FROM jobs.step_wait`,
  signal: `SELECT key, data, expires FROM jobs.signal`,
  stream: `SELECT jid, run, written, last, size, ended, record IS NOT NULL AS has_record, expires FROM jobs.stream`,
  stream_part: `SELECT jid, last, run, attempt, body FROM jobs.stream_part`,
  batch:
    `SELECT id, flow, parent, counted, closed, closed_as, success_at, complete_at, death_at, abandoned_at, due, total, pending,
    waiting, dead, succeeded, failed, cancelled, expired, deleted FROM jobs.batch`,
  flow_node: `SELECT flow, name, needs, state, effect, payload, result FROM jobs.flow_node`,
  flow_pending: `SELECT flow, source, effect, position FROM jobs.flow_pending`,
  record: `SELECT jid, body, expires FROM jobs.record`,
  log: `SELECT name, number, text FROM jobs.log`,
  departure: `SELECT refs, gone FROM jobs.departure`,
};

/** Returns each row as text. */
export const SNAPSHOT = Object.entries(TABLES)
  .map(([name, select]) => `SELECT '${name} ' || to_json(one)::text AS row FROM (${select}) AS one`).join(
    " UNION ALL ",
  );

/** Times that are less than this apart count as the same. */
const SAME_TIME_MS = 600_000;

/** Returns a text without what depends on the moment: times are relative and rough, and tokens and numbers of rows are left out. */
export function normalized(text: string, now: number): string {
  const time = (ms: number) => `T${Math.round((ms - now) / SAME_TIME_MS)}`;
  return text
    .replace(/\b1[6-9]\d{8}\.\d{1,6}\b/g, (seconds) => time(Number(seconds) * 1_000))
    .replace(/\b1[6-9]\d{11}(\.\d+)?\b/g, (ms) => time(Number(ms)))
    .replace(/\b\d+\.\d{9,16}\b/g, "TOKEN")
    .replace(
      /"(freeInMs|leftMs|nextInMs)":(\d+)/g,
      (_, name, ms) => `"${name}":"T${Math.round(Number(ms) / SAME_TIME_MS)}"`,
    )
    // Settlements trim the dead set afterwards, each what the other has left.
    .replace(/,"dropped":\d+/, "")
    .replace(/\b(queue|running|scheduled|retry|dead)\.\d+\./g, "$1.ID.");
}
