/**
 * The shop's pictures, in Node: a worker whose jobs come over HTTP. `node worker.mjs URL…`
 *
 * With several URLs, of gateways on one store, it continues at the next when one fails.
 */
import { work } from "../../clients/node/jobs_client.mjs";
import { Pictures } from "./pictures.mjs";

// The built-in worker has the queue "default", which this one would take from, too.
const queues = ["pictures"];
await work({ url: process.argv.slice(2), token: process.env.JOBS_TOKEN, queues, handlers: { Pictures } });
