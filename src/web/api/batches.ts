/**
 * The API's routes about batches and flows.
 *
 * @module
 */
import { nodeStates } from "../../store/ops/flows.ts";
import { batchPageShape, batchShape, flowPageShape, flowShape, nodePageShape } from "../../operator/shapes/batches.ts";
import { batchJson } from "../../text/batches.ts";
import { flowJson, nodeJson } from "../../text/flows.ts";
import { type BatchKind, cancel, closeBatch, findBatch, openBatch, pushFlow, retry } from "../actions/batches.ts";
import { pageOf } from "../read/paging.ts";
import { objectTextOf, WARNINGS_SCHEMA } from "./json.ts";
import type { ActionResult } from "../actions/jobs.ts";
import { type ApiAnswer, type ApiRoute, pageQuery, reads } from "./route.ts";

const CHANGED = {
  type: "object",
  properties: {
    changed: { type: "integer", description: "absent with status 202: the action continues, see /operations" },
  },
};

function answerOf(result: ActionResult): ApiAnswer {
  return { value: result, status: result.changed === undefined ? 202 : 200 };
}

const CANCELLED = {
  type: "object",
  properties: {
    ...CHANGED.properties,
    alreadyCancelled: {
      type: "boolean",
      description: "an earlier call has cancelled it; changed is what that one left",
    },
  },
};

/** Fields of a batch, and of a flow. */
const CALLBACKS = {
  tags: { type: "array", items: { type: "string" } },
  success: { type: "object", description: "a job to push when every job has succeeded" },
  complete: { type: "object", description: "a job to push when every job has ended or is dead" },
  death: { type: "object", description: "a job to push when the first job has failed for good" },
  keepFor: { type: "string", description: "how long it is kept after its end; default 7d" },
  parent: { type: "string", description: "ID of the batch that counts it as a member" },
};

/** The routes. */
export const batchRoutes: readonly ApiRoute[] = [
  reads({
    path: "/batches",
    about: "Lists the batches, the latest first",
    query: pageQuery(50),
    shape: batchPageShape,
    run: async (c, services) => {
      const { batches, next } = await services.store.batches.read({ ...pageOf(c), flows: false });
      return { batches: batches.map(batchJson), next };
    },
  }),
  reads({
    path: "/batches/{id}",
    about: "Returns a batch: its state, the counts of its jobs, its callbacks",
    shape: batchShape,
    run: async (c, services) => batchJson(await findBatch(services, "batch", c.req.param("id") ?? "")),
  }),
  reads({
    path: "/flows",
    about: "Lists the flows, the latest first",
    query: pageQuery(50),
    shape: flowPageShape,
    run: async (c, services) => {
      const { batches, next } = await services.store.batches.read({ ...pageOf(c), flows: true });
      return { flows: batches.map(flowJson), next };
    },
  }),
  reads({
    path: "/flows/{id}",
    about: "Returns a flow: its state, the counts of its jobs, its callbacks",
    shape: flowShape,
    run: async (c, services) => flowJson(await findBatch(services, "flow", c.req.param("id") ?? "")),
  }),
  ...routesOf("batch", "batches"),
  ...routesOf("flow", "flows"),
  reads({
    path: "/flows/{id}/nodes",
    about: "Lists the nodes of a flow with their states, in the order of its definition",
    query: pageQuery(50),
    shape: nodePageShape,
    run: async (c, services) => {
      const { id } = await findBatch(services, "flow", c.req.param("id") ?? "");
      const { nodes, next } = await services.store.flows.nodes(id, pageOf(c));
      const states = await nodeStates(services.store, nodes);
      return { nodes: nodes.map((node) => nodeJson(node, states.get(node.name)!)), next };
    },
  }),
  {
    method: "POST",
    path: "/batches",
    access: "act",
    about: "Opens a batch. POST /jobs adds jobs with its ID as batch",
    body: {
      type: "object",
      properties: {
        name: { type: "string" },
        ...CALLBACKS,
        abandoned: { type: "object", description: "a job to push when the batch wasn't closed in time" },
        closeWithin: {
          type: "string",
          description: "an open batch is abandoned without new jobs for this long; default 1d",
        },
      },
    },
    answer: { type: "object", properties: { id: { type: "string" }, warnings: WARNINGS_SCHEMA } },
    run: async (c, services) => {
      const text = await objectTextOf(c, services);
      return { value: { ...await openBatch(services, c.get("visitor"), text) }, status: 201 };
    },
  },
  {
    method: "POST",
    path: "/batches/{id}/close",
    access: "act",
    about: "Closes a batch: its callbacks follow when its jobs have ended",
    answer: { type: "object", properties: { closed: { type: "boolean" } } },
    run: async (c, services) => {
      await closeBatch(services, c.get("visitor"), c.req.param("id") ?? "");
      return { value: { closed: true } };
    },
  },
  {
    method: "POST",
    path: "/flows",
    access: "act",
    about: "Pushes a flow: jobs that run after each other. Nothing is stored if any of it is invalid",
    body: {
      type: "object",
      properties: {
        name: { type: "string" },
        nodes: { type: "object", description: "by name: class, args, options of the job, after, onDead" },
        id: {
          type: "string",
          description: "as the header Idempotency-Key: a later push completes or returns the first flow",
        },
        within: { type: "string", description: "how long the id is remembered; default 1d" },
        ...CALLBACKS,
      },
    },
    answer: {
      type: "object",
      properties: {
        id: { type: "string" },
        jids: { type: "object" },
        existed: {
          type: "boolean",
          description:
            "an earlier push with the same Idempotency-Key or id stored the flow; a key or id that was used with another " +
            "name or other nodes is refused with 409",
        },
        warnings: WARNINGS_SCHEMA,
      },
    },
    run: async (c, services) => {
      const text = await objectTextOf(c, services);
      const flow = await pushFlow(services, c.get("visitor"), text, c.req.header("idempotency-key"));
      return { value: { ...flow }, status: flow.existed ? 200 : 201 };
    },
  },
];

function routesOf(kind: BatchKind, plural: string): ApiRoute[] {
  const id = `/${plural}/{id}`;
  return [
    {
      method: "POST",
      path: `${id}/cancel`,
      access: "act",
      about: `Cancels a ${kind} and its jobs`,
      answer: CANCELLED,
      run: async (c, services) => {
        return answerOf(await cancel(services, c.get("visitor"), kind, c.req.param("id") ?? ""));
      },
    },
    {
      method: "POST",
      path: `${id}/retry`,
      access: "act",
      about: `Enqueues the dead jobs of a ${kind} again`,
      answer: CHANGED,
      run: async (c, services) => {
        return answerOf(await retry(services, c.get("visitor"), kind, c.req.param("id") ?? ""));
      },
    },
  ];
}
