/**
 * The API's routes about groups of queues.
 *
 * @module
 */
import { setGroupLimit, setGroupPaused } from "../actions/queues.ts";
import { HttpError } from "../http/body.ts";
import { checkQueue } from "../read/job_sets.ts";
import { pageOf } from "../read/paging.ts";
import { allowFields, objectOf, spanIn, textIn } from "./json.ts";
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
  {
    method: "POST",
    path: "/queues/{name}/groups/limit",
    access: "act",
    about: "Sets the limit of a group of a queue, or of each group; without any limit, removes it",
    body: {
      type: "object",
      properties: {
        group: { type: "string", description: "default: each group without a separate limit" },
        running: { type: "integer", description: "the most jobs of a group that run at the same time" },
        starts: { type: "string", description: "the most jobs of a group that start per period, such as 100/1m" },
        weight: { type: "integer", description: "share in relation to other groups; only for one group" },
        for: { type: "string", description: "30s, 10m, 2h, 30d; default: until it is changed; only for one group" },
      },
    },
    answer: {
      type: "object",
      properties: {
        queue: { type: "string" },
        group: { type: "string" },
        running: { type: "integer" },
        starts: { type: "object" },
      },
    },
    run: async (c, services) => {
      const body = await objectOf(c, services);
      allowFields(body, ["group", "running", "starts", "weight", "for"]);
      const queue = checkQueue(c.req.param("name") ?? "");
      const group = textIn(body, "group");
      const numberIn = (name: string) => body[name] === undefined ? "" : JSON.stringify(body[name]);
      const texts = {
        running: numberIn("running"),
        starts: textIn(body, "starts") ?? "",
        weight: numberIn("weight"),
        for: textIn(body, "for") ?? "",
      };
      // A form without limits removes them, whatever its other field says. A program has forgotten the limit.
      if (texts.for !== "" && texts.running + texts.starts + texts.weight === "") {
        throw new HttpError(
          422,
          '"for" needs a limit that ends: expected "running", "starts" or "weight" with it',
          "for",
        );
      }
      return { value: { queue, group, ...await setGroupLimit(services, c.get("visitor"), { queue, group }, texts) } };
    },
  },
  ...(["pause", "resume"] as const).map((verb): ApiRoute => ({
    method: "POST",
    path: `/queues/{name}/groups/${verb}`,
    access: "act",
    about: `${verb === "pause" ? "Pauses" : "Resumes"} a group of a queue`,
    body: {
      type: "object",
      required: ["group"],
      properties: {
        group: { type: "string" },
        ...(verb === "pause" && { for: { type: "string", description: "30s, 10m, 2h; default: until it is resumed" } }),
      },
    },
    answer: {
      type: "object",
      properties: { queue: { type: "string" }, group: { type: "string" }, paused: { type: "boolean" } },
    },
    run: async (c, services) => {
      const body = await objectOf(c, services);
      allowFields(body, verb === "pause" ? ["group", "for"] : ["group"]);
      const queue = checkQueue(c.req.param("name") ?? "");
      const group = textIn(body, "group") ?? "";
      const forMs = spanIn(body, "for");
      await setGroupPaused(services, c.get("visitor"), { queue, group }, verb === "pause", forMs);
      return { value: { queue, group, paused: verb === "pause" } };
    },
  })),
];
