/** The workers of the clients begin no job that they have lost between the server's reply and the begin of its thread. */
import { assert, assertEquals } from "@std/assert";
import { requireTool } from "../support/tools.ts";

const TIMES = { heartbeatMs: 300, timeoutMs: 600 };

/** A server that gives jobs of each class, and says of one each, once it is asked, that it is lost. */
function gateway(classes: readonly string[]) {
  const jobs = classes.flatMap((name) => ["kept", "lost"].map((fate) => ({ name, jid: `${name} ${fate}` })));
  const lost = jobs.map(({ jid }) => jid).filter((jid) => jid.endsWith("lost"));
  let settled = 0;
  const done = Promise.withResolvers<void>();
  let takes = 0;
  const answers: Readonly<Record<string, (body: { readonly outcomes?: readonly { token: string }[] }) => unknown>> = {
    register: () => ({ worker: "w", running: [], ...TIMES }),
    async take() {
      if (++takes > 1) await done.promise;
      const given = takes > 1 ? [] : jobs;
      return {
        jobs: given.map(({ name, jid }) => {
          const payload = JSON.stringify({ class: name, jid, args: [] });
          return { token: jid, payload, queue: "default", attempt: 1, receipt: jid, jid, class: name };
        }),
        quiet: false,
        // Only the second request waits until all has ended.
        stopping: given.length === 0,
      };
    },
    heartbeat: () => ({ aborted: [], lost, quiet: false, stopping: settled > 0 }),
    settle({ outcomes = [] }) {
      settled += outcomes.length;
      if (settled >= classes.length) done.resolve();
      return { lost: [] };
    },
    deregister: () => ({}),
  };
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    const answer = answers[new URL(request.url).pathname.split("/").at(-1)!]!;
    return Response.json(await answer(await request.json()));
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    [Symbol.asyncDispose]: async () => {
      done.resolve();
      await server.shutdown();
    },
  };
}

for (
  const [language, command, file, classes] of [
    ["Python", "python3", "late_start.py", ["Plain", "Coroutine"]],
    ["Ruby", "ruby", "late_start.rb", ["Plain"]],
  ] as const
) {
  Deno.test(`a worker in ${language} begins no job that it lost while its process stood still`, async () => {
    requireTool(command);
    await using server = gateway(classes);
    const { success, stdout, stderr } = await new Deno.Command(command, {
      args: [new URL(file, import.meta.url).pathname, server.url],
      signal: AbortSignal.timeout(60_000),
    }).output();
    assert(success, new TextDecoder().decode(stderr));
    const begun = new TextDecoder().decode(stdout).trim().split("\n").sort();
    assertEquals(begun, classes.map((name) => `${name} kept`).sort());
  });
}
