/**
 * Pushes `Note` jobs with distinct lines, partly one by one and partly in bulk: a producer in a separate
 * process. Arguments: store, number, file, name.
 */
import { Client } from "../../src/client/client.ts";
import { openStore } from "../../src/store/open.ts";

const [url, count, file, name] = Deno.args;
await using store = await openStore(url!);
const client = new Client({ store });
const args = Array.from({ length: Number(count) }, (_, i) => [file, `${name}-${i}`]);
const single = args.splice(0, 500);
for (const one of single) await client.push({ class: "Note", args: one });
await client.pushBulk({ class: "Note", args });
