/**
 * What the commands print with `--json` that are about the store, the dashboard and this machine.
 *
 * @module
 */
import type { Shape } from "./json_shape.ts";

/** In the order of `jobs help`. */
export const UPKEEP_SHAPES: readonly Shape[] = [
  {
    command: "jobs move",
    prints: "an object",
    fields: { "jobs": ["number", "how many were moved"], "cron": ["number", "entries of the crontab moved"] },
  },
  { command: "jobs web --new-user NAME", prints: "an object", fields: { "user": ["text", "a line for `web.users`"] } },
  {
    command: "jobs web --new-token NAME",
    prints: "an object",
    fields: { "token": ["text", "the token, shown this once"], "user": ["text", "a line for `web.users`"] },
  },
  {
    command: "jobs bench",
    prints: "an object",
    fields: {
      "store": ["text", "what the store runs on"],
      "cores": ["number", "of this machine"],
      "jobs": ["number", "pushed in bulk, and performed"],
      "concurrency": ["number", "how many at once"],
      "pushOne": ["object", "pushes, one after the other"],
      "pushOne.perSecond": ["number", "how many a second"],
      "pushOne.p50Ms": ["number", "half took at most so long"],
      "pushOne.p99Ms": ["number", "99 of 100 did"],
      "pushBulk": ["object", "pushes, 1,000 at a time"],
      "pushBulk.perSecond": ["number", "jobs a second"],
      "perform": ["object", "performing them in one process"],
      "perform.perSecond": ["number", "jobs a second"],
      "start": ["object", "from the push to the start, in a process that is idle"],
      "start.p50Ms": ["number", "half took at most so long"],
      "start.p99Ms": ["number", "99 of 100 did"],
    },
  },
  {
    command: "jobs doctor",
    prints: "an object",
    fields: {
      "findings": ["list", "what was looked at"],
      "findings[].check": [
        "text",
        "`settings`, `handlers`, `cron`, `files`, `store`, `clock`, `processes`, `queues` or `jobs`",
      ],
      "findings[].state": ["text", "`ok`, `warning` or `failed`"],
      "findings[].message": ["text", "what was found"],
      "findings[].cure?": ["text", "what to do about it"],
      "settings": ["list", "every setting in force"],
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
    fields: { "ready": ["boolean", "whether it is"], "why?": ["text", "why not"] },
  },
  {
    command: "jobs version",
    prints: "an object",
    fields: {
      "jobs": ["text", "the version"],
      "commit?": ["text", "what it was compiled from"],
      "deno": ["text", "the runtime in it"],
      "v8": ["text", "its engine"],
      "target": ["text", "the platform"],
    },
  },
];
