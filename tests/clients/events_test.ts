/** The clients follow the log of events, also when their server is killed and started again. */
import { assert, assertEquals } from "@std/assert";
import { cancelJob } from "../../src/store/ops/cancel.ts";
import { until } from "../support/eventually.ts";
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
}
