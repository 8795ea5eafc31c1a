/**
 * The API's routes about durable steps and signals.
 *
 * @module
 */
import { signalPageShape, stepListShape } from "../../operator/shapes/steps.ts";
import { waitJson } from "../../text/signals.ts";
import { stepJson } from "../../text/steps.ts";
import { readSignalPage, SIGNAL_FILTERS } from "../read/signals.ts";
import { shownSteps } from "../read/steps.ts";
import { type ApiRoute, pageQuery, reads } from "./route.ts";

/** The routes. */
export const stepRoutes: readonly ApiRoute[] = [
  reads({
    path: "/jobs/{jid}/steps",
    about: "Lists the durable steps of a job, in the order in which they began; of an ended one, those of its record",
    shape: stepListShape,
    run: async (c, services) => ({ steps: (await shownSteps(services, c.req.param("jid") ?? "")).map(stepJson) }),
  }),
  reads({
    path: "/signals",
    access: "waits",
    about: "Lists the jobs that wait for a signal, such as an approval, the first to time out first",
    query: { key: `${SIGNAL_FILTERS.key.about}`, ...pageQuery(50) },
    shape: signalPageShape,
    run: async (c, services) => {
      const { rows, next } = await readSignalPage(services, c);
      return { signals: rows.map(waitJson), next };
    },
  }),
];
