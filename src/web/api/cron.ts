/**
 * The API's routes about cron entries.
 *
 * @module
 */
import type { CrontabEntry } from "../../client/crontab.ts";
import { cronEntryJson, cronRecordJson } from "../../text/cron.ts";
import { HttpError } from "../http/body.ts";
import type { Services } from "../services.ts";
import type { ApiRoute } from "./routes.ts";

const OBJECT = { type: "object" };
const HISTORY = 100;
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
];

function entryJson(entry: CrontabEntry, services: Services) {
  return cronEntryJson({ ...entry, definition: services.mask.value(entry.definition) as typeof entry.definition });
}
