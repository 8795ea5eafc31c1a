/** The shop's checkout, in Node: pushes an order to the shop's worker, and waits for its payment. `node producer.mjs URL` */
import { JobsClient } from "../../clients/node/jobs_client.mjs";

const jobs = new JobsClient({ url: process.argv[2] });
const { jid } = await jobs.push("Charge", [8, "grace@example.com"], { id: "order-8", result_ttl: "1h" });
const { result } = await jobs.result(jid, { timeoutMs: 60_000 });
console.log(`Node: ${result}`);
