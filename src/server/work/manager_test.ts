import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/clock.ts";
import { KeptLog } from "../../../tests/support/log.ts";
import { Tasks } from "../control/tasks.ts";
import { LeaseBuffer } from "./lease_buffer.ts";
import { LoopShare } from "./loop_share.ts";
import { abridged, Manager } from "./manager.ts";
import type { ProcessorServices } from "./processor_services.ts";
import type { Settler } from "./settler.ts";

Deno.test("there are as many processors as the concurrency, also after it has changed", async () => {
  const clock = new FakeClock();
  const buffer = new LeaseBuffer({
    clock,
    settler: { add: () => {} },
    leaseGuard: { isSure: true },
    onFinished: () => {},
    onHandedOut: () => {},
    onIdle: () => {},
    onUnsure: () => {},
    onReleased: () => {},
  });
  const tasks = new Tasks(clock);
  const settler = { flush: () => Promise.resolve(), unsettled: 0 } as unknown as Settler;
  const services = { clock, buffer, tasks, settler, loopShare: new LoopShare(clock), middleware: [] };
  const manager = new Manager(services as unknown as ProcessorServices & { settler: Settler }, {
    concurrency: 3,
    log: new KeptLog(),
  });
  manager.start();
  for (const concurrency of [3, 1, 4, 4, 2]) {
    manager.resize(concurrency);
    for (let turns = 0; turns < 3; turns++) await clock.turn();
    assertEquals([manager.concurrency, buffer.idle, tasks.list().length], [concurrency, concurrency, concurrency]);
  }
  await manager.stop();
  assertEquals([buffer.idle, tasks.list().length], [0, 0]);
});

Deno.test("abridged returns a payload of ordinary size unchanged", () => {
  for (const payload of ['{"class":"A", "args":[1.0]}', "{not json", "x".repeat(4_000)]) {
    assertEquals(abridged(payload), payload);
  }
});

Deno.test("abridged keeps the small fields of a large payload, and replaces the others with their size", () => {
  const large = "x".repeat(50_000);
  const payload = `{"class":"A", "args":["${large}"],"jid":"j1","big":12345678901234567890,"note":"${large}"}`;
  assertEquals(
    abridged(payload),
    '{"class":"A","args":["(50004 characters)"],"jid":"j1","big":12345678901234567890,"note":"(50002 characters)"}',
  );
});

Deno.test("abridged limits text that isn't a JSON object, and payloads with thousands of fields", () => {
  assertEquals(abridged(`[${"1,".repeat(50_000)}1]`).length, 4_000);
  const fields = Array.from({ length: 5_000 }, (_, i) => `"field ${i}":${i}`).join(",");
  const short = abridged(`{"class":"A","jid":"j1",${fields}}`);
  assert(short.length <= 4_100, `${short.length}`);
  assertEquals(JSON.parse(short).jid, "j1");
});
