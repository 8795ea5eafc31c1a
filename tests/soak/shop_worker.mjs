/** The shop's worker in Node in a soak. The gateways' addresses are its arguments. */
import process from "node:process";
import { work } from "../../clients/node/jobs_client.mjs";
import { Pictures } from "../../examples/shop/pictures.mjs";
import { noted } from "./journal.mjs";

const handler = Object.assign((ctx, ...args) => noted(ctx, () => Pictures(ctx, ...args)), {
  options: Pictures.options,
});
await work({ url: process.argv.slice(2), queues: ["pictures"], handlers: { Pictures: handler } });
