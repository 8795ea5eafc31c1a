/**
 * The API's routes about batches and flows.
 *
 * @module
 */
import { nodeStates } from "../../store/ops/flows.ts";
import {
  batchPageShape,
  flowPageShape,
  flowShape,
  nodePageShape,
  shownBatchShape,
} from "../../operator/shapes/batches.ts";
import { batchJson, whyNotEnded } from "../../text/batches.ts";
import { flowJson, nodeJson } from "../../text/flows.ts";
import { findBatch } from "../../operator/actions/batches.ts";
import { batchesOf } from "../read/batches.ts";
import { pageOf } from "../read/paging.ts";
import { type ApiRoute, pageQuery, reads } from "./route.ts";

/** As on the pages. A page may have fewer rows than its limit. */
const FILTERS = {
  q: "words, each a part of the name, the ID or a tag",
  state: "such as running or stuck",
  tag: "a whole tag",
};

/** The routes. */
export const batchRoutes: readonly ApiRoute[] = [
  reads({
    path: "/batches",
    about: "Lists the batches, the latest first",
    query: { ...FILTERS, ...pageQuery(50) },
    shape: batchPageShape,
    run: async (c, services) => {
      const { batches, next } = await batchesOf(services, c, "batch");
      return { batches: batches.map(batchJson), next };
    },
  }),
  reads({
    path: "/batches/{id}",
    about: "Returns a batch: its state, the counts of its jobs, its callbacks",
    shape: shownBatchShape,
    run: async (c, services) => {
      const batch = await findBatch(services, "batch", c.req.param("id") ?? "");
      return { ...batchJson(batch), why: whyNotEnded(batch, services.clock.now()) };
    },
  }),
  reads({
    path: "/flows",
    about: "Lists the flows, the latest first",
    query: { ...FILTERS, ...pageQuery(50) },
    shape: flowPageShape,
    run: async (c, services) => {
      const { batches, next } = await batchesOf(services, c, "flow");
      return { flows: batches.map(flowJson), next };
    },
  }),
  reads({
    path: "/flows/{id}",
    about: "Returns a flow: its state, the counts of its jobs, its callbacks",
    shape: flowShape,
    run: async (c, services) => flowJson(await findBatch(services, "flow", c.req.param("id") ?? "")),
  }),
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
];
