/**
 * The API's routes about groups of queues.
 *
 * @module
 */
import { checkQueue } from "../read/job_sets.ts";
import { pageOf } from "../read/paging.ts";
import type { ApiRoute } from "./routes.ts";

const GROUP = {
  type: "object",
  properties: {
    name: { type: "string", description: "|high and |low are the jobs of these priorities" },
    size: { type: "integer", description: "queued jobs" },
    latencyMs: { type: "number", description: "age of its oldest queued job; 0 without one" },
    running: { type: "integer", description: "running jobs" },
    weight: { type: "number" },
    fairShare: {
      type: "number",
      description: "the part of the queue's next jobs that its weight gives it, 0 to 1; not measured. " +
        "Absent if it has no turns: no queued jobs, at its limit, or paused",
    },
    limit: { type: "object", description: "its limit and how much of it is used; absent if it has none" },
    isOwn: { type: "boolean", description: "whether it has a separate limit or weight" },
    sharesLimit: { type: "boolean", description: "true if just its weight is separate" },
    endsInMs: { type: "number", description: "until its separate limit ends; absent if it doesn't" },
    paused: { type: "boolean" },
    pausedForMs: { type: "number", description: "until the pause ends; absent if it has no end" },
  },
};

/** The routes. */
export const groupRoutes: readonly ApiRoute[] = [
  {
    method: "GET",
    path: "/queues/{name}/groups",
    access: "read",
    about: "Lists the groups of a queue by name, with their queued and running jobs, limit, weight and fair share",
    query: { cursor: "next of the page before", limit: "1 to 1000; default 50" },
    answer: {
      type: "object",
      properties: {
        groups: { type: "array", items: GROUP },
        each: { type: "object", description: "the limit of each group without a separate one; absent without one" },
        ungrouped: { type: "integer", description: "queued jobs without a group" },
        ungroupedFairShare: { type: "number", description: "their fair share; absent without any" },
        slowest: {
          type: "object",
          description: "the group whose oldest job has been queued for the longest time, on the first page",
          properties: { name: { type: "string" }, latencyMs: { type: "number" } },
        },
        next: { type: "string", description: "cursor of the next page; absent on the last" },
      },
    },
    run: async (c, services) => {
      const page = pageOf(c);
      const withSlowest = page.cursor === undefined;
      const value = await services.store.admin.groups(checkQueue(c.req.param("name") ?? ""), { ...page, withSlowest });
      return { value: { ...value } };
    },
  },
];
