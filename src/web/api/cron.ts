/**
 * The API's routes about the crontab.
 *
 * @module
 */
import type { CrontabEntry } from "../../client/crontab.ts";
import { describeSchedule } from "../../cron/schedule_spec.ts";
import { Refusal } from "../body.ts";
import { changeCron } from "../crontab.ts";
import type { Desk } from "../desk.ts";
import { isoTime } from "./json.ts";
import type { ApiRoute } from "./routes.ts";

const OBJECT = { type: "object" };
const HISTORY = 100;

/** The routes. */
export const cronRoutes: readonly ApiRoute[] = [
  {
    method: "GET",
    path: "/cron",
    about: "Lists the crontab: what is enqueued when, and what became of it last",
    answer: { type: "object", properties: { entries: { type: "array", items: OBJECT } } },
    run: async (_c, desk) => ({
      value: { entries: (await desk.crontab.list()).map((entry) => entryJson(entry, desk)) },
    }),
  },
  {
    method: "GET",
    path: "/cron/{name}",
    about: "Shows an entry with its history, the latest first",
    answer: { type: "object", properties: { entry: OBJECT, history: { type: "array", items: OBJECT } } },
    run: async (c, desk) => {
      const name = c.req.param("name") ?? "";
      const entry = await desk.crontab.get(name);
      if (entry === undefined) throw new Refusal(404, `No cron entry "${name.slice(0, 80)}"`);
      return { value: { entry: entryJson(entry, desk), history: await desk.crontab.history(name, HISTORY) } };
    },
  },
  ...(["run", "pause", "resume", "remove"] as const).map((verb): ApiRoute => ({
    method: "POST",
    path: `/cron/{name}/${verb}`,
    about: {
      run: "Enqueues a job of an entry now",
      pause: "Lets nothing of an entry be enqueued",
      resume: "Lets a paused entry go on",
      remove: "Removes an entry that was added while processes ran",
    }[verb],
    answer: { type: "object", properties: { jid: { type: "string" } } },
    run: async (c, desk) => ({
      value: { jid: await changeCron(desk, c.get("visitor"), c.req.param("name") ?? "", verb) },
    }),
  })),
];

function entryJson({ name, definition, state, next, live, isCarried, last }: CrontabEntry, desk: Desk) {
  return {
    name,
    ...(desk.mask.value(definition) as typeof definition),
    when: definition && describeSchedule(definition.schedule),
    next: isoTime(next),
    paused: state?.paused ?? false,
    live,
    carried: isCarried,
    last,
  };
}
