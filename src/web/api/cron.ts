/**
 * The API's routes about cron entries.
 *
 * @module
 */
import { CRON_FILTERS } from "../../operator/query/cron.ts";
import { withEnds } from "../../operator/query/cron_ends.ts";
import { entryPageShape, shownEntryShape } from "../../operator/shapes/cron.ts";
import { readLastSettings } from "../../operator/query/last_settings.ts";
import { cronEntryJson, cronRecordJson, type CronRow, noneSchedules } from "../../text/cron.ts";
import { HttpError } from "../http/body.ts";
import type { Services } from "../services.ts";
import { readCronPage } from "../read/cron.ts";
import { type ApiRoute, pageQuery, reads } from "./route.ts";

const HISTORY = 100;
const abouts = Object.fromEntries(Object.entries(CRON_FILTERS).map(([name, { about }]) => [name, about]));

/** The routes. */
export const cronRoutes: readonly ApiRoute[] = [
  reads({
    path: "/cron",
    about: "Lists the cron entries with their schedules, next runs and last runs",
    query: { ...abouts, ...pageQuery(50) },
    shape: entryPageShape,
    run: async (c, services) => {
      const { entries, next, isIdle } = await readCronPage(services, c);
      return { entries: await entriesJson(entries, services), idle: isIdle, next };
    },
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
      const [[shown], workers] = await Promise.all([entriesJson([entry], services), services.store.workers.list()]);
      return { entry: shown!, history: history.map(cronRecordJson), idle: noneSchedules(workers) };
    },
  }),
];

async function entriesJson(entries: readonly CronRow[], { store, mask }: Services) {
  const { cronPauses } = await readLastSettings(store, [], undefined, entries);
  return entries.map((entry) =>
    cronEntryJson({
      ...entry,
      definition: mask.value(entry.definition) as typeof entry.definition,
      pause: cronPauses.get(entry.name),
    })
  );
}
