/**
 * Ours in Node or Python, over HTTP, in the comparison with other systems: `JOBS` jobs with a text of `BYTES` bytes are pushed by the
 * client, and performed by one worker. Prints the seconds of both, and the processor time of the worker and of its gateway.
 *
 *     JOBS=50000 BYTES=10 deno run -A tests/bench/peers_remote.ts STORE-URL "node remote.mjs" [CONCURRENCY [STAGE]]
 *
 * STAGE: `work`, or in Python `coroutines`.
 */
import { startGateway } from "./gateway.ts";

const [store, command, concurrency = "10", stage = "work"] = Deno.args;
const [program, file] = command!.split(" ");
await using gateway = await startGateway(store!);

async function run(what: string): Promise<void> {
  const args = [new URL(file!, import.meta.url).pathname, what, gateway.url, concurrency];
  const options = { args, stdin: "null", stdout: "inherit", stderr: "piped" } as const;
  const { success, stderr } = await new Deno.Command(program!, options).output();
  if (!success) throw new Error(`${command}: ${new TextDecoder().decode(stderr)}`);
}

await run("push");
const before = await gateway.cpuMs();
await run(stage);
console.log(`server ${(await gateway.cpuMs() - before) / 1_000}`);
