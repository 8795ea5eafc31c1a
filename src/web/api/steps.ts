/**
 * The API's routes about durable steps and signals.
 *
 * @module
 */
import { stepListShape } from "../../operator/shapes/steps.ts";
import { stepJson } from "../../text/steps.ts";
import { clear, rerun, signal, wake } from "../actions/steps.ts";
import { HttpError } from "../http/body.ts";
import { shownSteps } from "../read/steps.ts";
import { allowFields, objectOf, spanIn, textIn } from "./json.ts";
import { type ApiRoute, reads } from "./route.ts";

const COUNT = { type: "object", properties: { changed: { type: "integer" } } };

/** The routes. */
export const stepRoutes: readonly ApiRoute[] = [
  reads({
    path: "/jobs/{jid}/steps",
    about: "Lists the durable steps of a job, in the order in which they began; of an ended one, those of its record",
    shape: stepListShape,
    run: async (c, services) => ({ steps: (await shownSteps(services, c.req.param("jid") ?? "")).map(stepJson) }),
  }),
  {
    method: "POST",
    path: "/jobs/{jid}/steps/clear",
    access: "act",
    about: "Deletes a step of a job, or all: it runs again in the next attempt",
    body: { type: "object", properties: { name: { type: "string", description: "default: all" } } },
    answer: COUNT,
    run: async (c, services) => {
      const body = await objectOf(c, services);
      allowFields(body, ["name"]);
      const jid = c.req.param("jid") ?? "";
      const name = textIn(body, "name");
      const changed = await clear(services, c.get("visitor"), jid, name);
      if (changed > 0) return { value: { changed } };
      throw new HttpError(404, `Step not found in job "${jid.slice(0, 80)}"`);
    },
  },
  {
    method: "POST",
    path: "/jobs/{jid}/steps/rerun",
    access: "act",
    about: "Deletes a step and all later ones, and moves a job that sleeps, retries or is dead to its queue",
    body: { type: "object", required: ["name"], properties: { name: { type: "string" } } },
    answer: {
      type: "object",
      properties: { changed: { type: "integer" }, queued: { type: "boolean" } },
    },
    run: async (c, services) => {
      const body = await objectOf(c, services);
      allowFields(body, ["name"]);
      const jid = c.req.param("jid") ?? "";
      const name = textIn(body, "name");
      if (name === undefined) throw new HttpError(422, `Missing field "name": expected the name of a step`);
      const { cleared, queued } = await rerun(services, c.get("visitor"), jid, name);
      if (cleared > 0) return { value: { changed: cleared, queued } };
      throw new HttpError(404, `Step not found in job "${jid.slice(0, 80)}"`);
    },
  },
  {
    method: "POST",
    path: "/jobs/{jid}/steps/wake",
    access: "act",
    about: "Ends the sleeps and waits of a job, as if their time had passed",
    answer: COUNT,
    run: async (c, services) => {
      const jid = c.req.param("jid") ?? "";
      const changed = await wake(services, c.get("visitor"), jid);
      if (changed > 0) return { value: { changed } };
      throw new HttpError(404, `Job "${jid.slice(0, 80)}" isn't sleeping or waiting`);
    },
  },
  {
    method: "POST",
    path: "/signals/{key}",
    access: "act",
    about: "Sends a signal to the job that has waited longest for this key; kept if none waits",
    body: {
      type: "object",
      properties: {
        data: { description: "any JSON value; default true" },
        keepFor: { type: "string", description: "how long it is kept if no job waits; default 7d" },
      },
    },
    answer: {
      type: "object",
      properties: { reached: { type: "string", description: "jid; absent if the signal is kept" } },
    },
    run: async (c, services) => {
      const body = await objectOf(c, services);
      allowFields(body, ["data", "keepFor"]);
      const keepMs = spanIn(body, "keepFor");
      const options = keepMs === undefined ? {} : { keepFor: keepMs / 1_000 };
      const data = body.data === undefined ? true : body.data;
      const { reached } = await signal(services, c.get("visitor"), c.req.param("key") ?? "", data, options);
      return { value: { reached }, status: reached === undefined ? 202 : 200 };
    },
  },
];
