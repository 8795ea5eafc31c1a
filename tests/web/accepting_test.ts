/** The web server when it runs out of file descriptors. */
import { assertEquals } from "@std/assert";
import { exhaustDescriptors } from "../support/descriptors.ts";
import { until } from "../support/eventually.ts";
import { denoCommand } from "../../scripts/deno_command.ts";

const SERVER = `
  import { systemClock } from "${import.meta.resolve("../../src/clock.ts")}";
  import { listen } from "${import.meta.resolve("../../src/web/http/http.ts")}";
  const options = {
    host: "127.0.0.1", port: 0, clock: systemClock, proxies: [],
    limits: { probeMs: 50, headMs: 300, connections: Number(Deno.args[0]) },
  };
  const server = await listen(() => Promise.resolve(new Response("ok")), options);
  console.log(server.port);
`;

/** A web server in a separate process, which may open this many files. */
async function serving({ files, connections }: { files: number; connections: number }) {
  const args = [
    "-c",
    `ulimit -n ${files}; exec "$@"`,
    "sh",
    ...denoCommand("eval", SERVER, `${connections}`),
  ];
  const child = new Deno.Command("sh", { args, stdin: "null", stdout: "piped" }).spawn();
  const reader = child.stdout.getReader();
  const port = Number(new TextDecoder().decode((await reader.read()).value));
  return {
    pid: child.pid,
    port,
    async answers(): Promise<boolean> {
      const signal = AbortSignal.timeout(500);
      const headers = { connection: "close" };
      try {
        return await (await fetch(`http://127.0.0.1:${port}/`, { signal, headers })).text() === "ok";
      } catch {
        return false;
      }
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.status;
      await reader.cancel();
    },
  };
}

Deno.test("a web server accepts again once file descriptors are free, with the same time limits", async () => {
  await using server = await serving({ files: 300, connections: 100 });
  assertEquals(await server.answers(), true);
  {
    await using _exhausted = await exhaustDescriptors(server.pid);
    await until(async () => !await server.answers(), "the server accepts no connection");
  }
  await until(() => server.answers(), "the server responds again");
  using wire = await Deno.connect({ port: server.port });
  await wire.write(new TextEncoder().encode("GET / HT"));
  const answer = new Uint8Array(1_000);
  const read = await wire.read(answer).catch(() => null);
  assertEquals(
    new TextDecoder().decode(answer.subarray(0, read ?? 0)).split("\r\n")[0],
    "HTTP/1.1 408 Request Timeout",
  );
});

Deno.test("connections take no more than half of the files that may be open", async () => {
  await using server = await serving({ files: 120, connections: 1_000 });
  using stack = new DisposableStack();
  for (let i = 0; i < 200; i++) stack.use(await Deno.connect({ port: server.port }));
  await until(async () => !await server.answers(), "the server accepts no more connections");
  let open = 0;
  for await (const _ of Deno.readDir(`/proc/${server.pid}/fd`)) open++;
  assertEquals(open < 110, true, `${open} of 120 files are open`);
});
