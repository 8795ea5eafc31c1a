/**
 * The API's routes about cron entries.
 *
 * @module
 */
import type { CrontabEntry } from "../../client/crontab.ts";
import type { CronEntryInput } from "../../cron/entry.ts";
import { entryInput } from "../../cron/entry_input.ts";
import { cronEntryJson, cronRecordJson } from "../../text/cron.ts";
import { isoTime } from "../../text/times.ts";
import { HttpError } from "../http/body.ts";
import { addCron, changeCron, definitionOf, editCron, previewCron } from "../actions/cron.ts";
import type { Services } from "../services.ts";
import { objectOf } from "./json.ts";
import type { ApiRoute } from "./routes.ts";

const OBJECT = { type: "object" };
const HISTORY = 100;
const TEXT = { type: "string" };
const ENTRY = {
  type: "object",
  required: ["name", "class"],
  description: "either rule or every; for all fields see docs/reference/cron.md",
  properties: {
    name: TEXT,
    rule: {
      type: "string",
      description: "cron expression: five fields, six with seconds first, or @daily and the like",
    },
    timezone: { type: "string", description: "time zone of the cron expression; default UTC" },
    every: { type: ["string", "number"], description: "seconds, or 30s, 5m, 2h, 1d" },
    class: TEXT,
    args: { type: "array", items: {} },
    queue: TEXT,
    overlap: { enum: ["allow", "skip", "queue-one", "replace"] },
    catchUp: { enum: ["none", "last", "all"] },
    memo: TEXT,
  },
};
const WHEN = {
  type: "object",
  properties: {
    when: { type: "string", description: "in plain words" },
    next: { type: "array", items: { type: "string", format: "date-time" } },
  },
};

/** The routes. */
export const cronRoutes: readonly ApiRoute[] = [
  {
    method: "GET",
    path: "/cron",
    access: "read",
    about: "Lists the cron entries with their schedules, next runs and last runs",
    answer: { type: "object", properties: { entries: { type: "array", items: OBJECT } } },
    run: async (_c, services) => ({
      value: { entries: (await services.crontab.list()).map((entry) => entryJson(entry, services)) },
    }),
  },
  {
    method: "GET",
    path: "/cron/{name}",
    access: "read",
    about: "Shows an entry with its runs, the latest first",
    answer: { type: "object", properties: { entry: OBJECT, history: { type: "array", items: OBJECT } } },
    run: async (c, services) => {
      const name = c.req.param("name") ?? "";
      const entry = await services.crontab.get(name);
      if (entry === undefined) throw new HttpError(404, `No cron entry "${name.slice(0, 80)}"`);
      const history = await services.crontab.history(name, HISTORY);
      return { value: { entry: entryJson(entry, services), history: history.map(cronRecordJson) } };
    },
  },
  {
    method: "POST",
    path: "/cron",
    access: "act",
    about: "Adds an entry; running workers pick it up at once",
    body: ENTRY,
    answer: WHEN,
    run: async (c, services) => {
      const input = await objectOf(c, services) as unknown as CronEntryInput;
      await addCron(services, c.get("visitor"), input);
      return { value: whenJson(services, input), status: 201 };
    },
  },
  {
    method: "POST",
    path: "/cron/{name}/edit",
    access: "act",
    about: "Changes the given fields of an entry that was added at run time",
    body: { ...ENTRY, required: [] },
    answer: WHEN,
    run: async (c, services) => {
      const name = c.req.param("name") ?? "";
      await editCron(services, c.get("visitor"), name, await objectOf(c, services) as Partial<CronEntryInput>);
      return { value: whenJson(services, entryInput(await definitionOf(services, name))) };
    },
  },
  ...(["run", "pause", "resume", "remove"] as const).map((verb): ApiRoute => ({
    method: "POST",
    path: `/cron/{name}/${verb}`,
    access: "act",
    about: {
      run: "Enqueues a job of an entry now; once, if it is repeated with its Idempotency-Key",
      pause: "Pauses an entry: its runs are skipped",
      resume: "Resumes a paused entry",
      remove: "Removes an entry that was added at run time",
    }[verb],
    answer: { type: "object", properties: { jid: { type: "string" } } },
    run: async (c, services) => ({
      value: {
        jid: await changeCron(
          services,
          c.get("visitor"),
          c.req.param("name") ?? "",
          verb,
          c.req.header("idempotency-key"),
        ),
      },
    }),
  })),
];

function whenJson(services: Services, input: CronEntryInput) {
  const { words, times } = previewCron(services, input);
  return { when: words, next: times.map(isoTime) };
}

function entryJson(entry: CrontabEntry, services: Services) {
  return cronEntryJson({ ...entry, definition: services.mask.value(entry.definition) as typeof entry.definition });
}
