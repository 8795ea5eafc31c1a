/**
 * The API's routes about durable steps and signals.
 *
 * @module
 */
import { stepListShape } from "../../operator/shapes/steps.ts";
import { stepJson } from "../../text/steps.ts";
import { shownSteps } from "../read/steps.ts";
import { type ApiRoute, reads } from "./route.ts";

/** The routes. */
export const stepRoutes: readonly ApiRoute[] = [
  reads({
    path: "/jobs/{jid}/steps",
    about: "Lists the durable steps of a job, in the order in which they began; of an ended one, those of its record",
    shape: stepListShape,
    run: async (c, services) => ({ steps: (await shownSteps(services, c.req.param("jid") ?? "")).map(stepJson) }),
  }),
];
