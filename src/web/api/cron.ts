/**
 * The API's routes about cron entries.
 *
 * @module
 */
import type { CrontabEntry } from "../../client/crontab.ts";
import { withEnds } from "../../operator/query/cron_ends.ts";
import { entryListShape, shownEntryShape } from "../../operator/shapes/cron.ts";
import { cronEntryJson, cronRecordJson } from "../../text/cron.ts";
import { HttpError } from "../http/body.ts";
import type { Services } from "../services.ts";
import { type ApiRoute, reads } from "./route.ts";

const HISTORY = 100;
/** The routes. */
export const cronRoutes: readonly ApiRoute[] = [
  reads({
    path: "/cron",
    about: "Lists the cron entries with their schedules, next runs and last runs",
    shape: entryListShape,
    run: async (_c, services) => ({
      entries: (await services.crontab.list()).map((entry) => entryJson(entry, services)),
    }),
  }),
  reads({
    path: "/cron/{name}",
    about: "Shows an entry with its runs, the latest first",
    shape: shownEntryShape,
    run: async (c, services) => {
      const name = c.req.param("name") ?? "";
      const entry = await services.crontab.get(name);
      if (entry === undefined) throw new HttpError(404, `No cron entry "${name.slice(0, 80)}"`);
      const runs = await services.crontab.history(name, HISTORY);
      const history = await withEnds(services.store, runs, entry, services.mask);
      return { entry: entryJson(entry, services), history: history.map(cronRecordJson) };
    },
  }),
];

function entryJson(entry: CrontabEntry, services: Services) {
  return cronEntryJson({ ...entry, definition: services.mask.value(entry.definition) as typeof entry.definition });
}
