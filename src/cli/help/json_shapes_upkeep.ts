/**
 * The output of the commands about the store, the dashboard and this machine, with `--json`.
 *
 * @module
 */
import type { Shape } from "./json_shape.ts";

/** In the order of `jobs help`. */
export const UPKEEP_SHAPES: readonly Shape[] = [
  {
    command: "jobs backup FILE",
    prints: "an object",
    fields: {
      "file": ["text", "the backup"],
      "jobs": ["number", "jobs in it that haven't finished"],
      "bytes": ["number", "its size"],
    },
  },
  {
    command: "jobs restore FILE",
    prints: "an object",
    fields: {
      "store": ["text", "the store"],
      "jobs": ["number", "jobs in it that haven't finished"],
      "kept?": ["text", "where the store before is kept; absent if there was none"],
    },
  },
  {
    command: "jobs migrate",
    prints: "an object",
    fields: { "jobs": ["number", "migrated jobs"], "cron": ["number", "migrated cron entries"] },
  },
  { command: "jobs web --new-user NAME", prints: "an object", fields: { "user": ["text", "a line for `web.users`"] } },
  {
    command: "jobs web --new-token NAME",
    prints: "an object",
    fields: { "token": ["text", "the token, shown only once"], "user": ["text", "a line for `web.users`"] },
  },
  {
    command: "jobs bench",
    prints: "an object",
    fields: {
      "store": ["text", "the version of the store"],
      "cores": ["number", "of this machine"],
      "jobs": ["number", "pushed in bulk and run"],
      "concurrency": ["number", "how many run at once"],
      "pushOne": ["object", "single pushes"],
      "pushOne.perSecond": ["number", "jobs/s"],
      "pushOne.p50Ms": ["number", "median"],
      "pushOne.p99Ms": ["number", "99th percentile"],
      "pushBulk": ["object", "pushes of 1,000"],
      "pushBulk.perSecond": ["number", "jobs/s"],
      "perform": ["object", "running them in one worker"],
      "perform.perSecond": ["number", "jobs/s"],
      "start": ["object", "from push to start, in an idle worker"],
      "start.p50Ms": ["number", "median"],
      "start.p99Ms": ["number", "99th percentile"],
    },
  },
  {
    command: "jobs doctor",
    prints: "an object",
    fields: {
      "findings": ["list", "the findings"],
      "findings[].check": [
        "text",
        "`settings`, `handlers`, `cron`, `files`, `store`, `clock`, `workers`, `queues` or `jobs`",
      ],
      "findings[].state": ["text", "`ok`, `warning` or `failed`"],
      "findings[].message": ["text", "one line"],
      "findings[].cure?": ["text", "what to do about it"],
      "settings": ["list", "every effective setting"],
      "settings[].key": ["text", "its key in the configuration"],
      "settings[].value?": [
        "any",
        "its value; durations in milliseconds; secrets as `***`, of users the name and role",
      ],
      "settings[].origin": ["text", "`default`, a file, a variable, or `flag`"],
    },
  },
  {
    command: "jobs doctor --ready",
    prints: "an object",
    fields: { "ready": ["boolean", "whether this machine is ready"], "why?": ["text", "why not"] },
  },
  {
    command: "jobs version",
    prints: "an object",
    fields: {
      "jobs": ["text", "the version"],
      "commit?": ["text", "the commit it was compiled from"],
      "deno": ["text", "the runtime"],
      "v8": ["text", "the runtime's engine"],
      "target": ["text", "the platform"],
    },
  },
];
