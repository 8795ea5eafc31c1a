// Sends a signal, for signal_once_test.ts.
import process from "node:process";
import { JobsClient } from "../../clients/node/jobs_client.mjs";

const jobs = new JobsClient({ url: process.argv[2] });
await jobs.signal("paid").catch(({ code }) => console.log(code));
