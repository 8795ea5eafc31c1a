/** The clients follow the log of events, also when their server is killed and started again. */
import { assert, assertEquals } from "@std/assert";
import { cancelJob } from "../../src/store/ops/cancel.ts";
import { until } from "../support/eventually.ts";
import { requireTool } from "../support/tools.ts";
import { Lab } from "./lab.ts";

for (
  const [language, command] of [
    ["Node", ["node", "events.mjs"]],
    ["Python", ["python3", "events.py"]],
    ["Ruby", ["ruby", "events.rb"]],
  ] as const
) {
  Deno.test(`the ${language} client yields each event once, before, during and after the death of its server`, async () => {
    await using lab = await Lab.open({ command, role: "reader" });
    const { store } = lab.bench;
    await store.events.keep(3_600_000);
    const jids: string[] = [];
    const cancelOne = async (name: string) => {
      const jid = await lab.bench.push(name, []);
      await cancelJob(store, jid, Date.now());
      if (name.startsWith("Mail")) jids.push(jid);
    };
    await cancelOne("Mail");
    const program = lab.program("4");
    const seen = () => program.lines.filter(({ jid }) => jid !== undefined);
    const sees = (count: number) =>
      until(() => seen().length === count, () => `${count} events: ${JSON.stringify(program.lines)}`);
    await sees(1);
    await cancelOne("Other");
    await cancelOne("MailÄ");
    await sees(2);
    lab.gateway.kill("SIGKILL");
    await lab.gateway.status();
    await cancelOne("Mail");
    await lab.startGateway();
    await sees(3);
    await cancelOne("Mail");
    assert((await program.status()).success, JSON.stringify(program.lines));
    assertEquals(seen().map(({ type, jid }) => [type, jid]), jids.map((jid) => ["cancelled", jid]));
  });

  Deno.test(`the ${language} client reads an event again whose connection was cut in the middle of a letter`, async () => {
    requireTool(command[0]);
    const [first, second] = [1, 2].map((id) =>
      new TextEncoder().encode(`id: ${id}\ndata: {"id":${id},"type":"dead","jid":"${id}","message":"ü"}\n\n`)
    ) as [Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>];
    let streams = 0;
    await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, ({ headers }) => {
      if (!headers.get("accept")?.includes("event-stream")) return Response.json({ events: [], next: streams });
      const parts = ++streams === 1 ? [first, second.slice(0, -5)] : [second];
      const body = new ReadableStream({
        pull(controller) {
          const part = parts.shift();
          if (part) controller.enqueue(part);
          else controller.error(new Error("cut"));
        },
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    });
    const [runtime, file] = command;
    const { success, stderr } = await new Deno.Command(runtime, {
      args: [new URL(file, import.meta.url).pathname, `http://127.0.0.1:${server.addr.port}`, "2"],
      env: { TOKEN: "" },
      signal: AbortSignal.timeout(30_000),
    }).output();
    const text = new TextDecoder().decode(stderr);
    assert(success, text);
    assertEquals(text.trim().split("\n").map((line) => JSON.parse(line).id), [1, 2]);
  });
}
