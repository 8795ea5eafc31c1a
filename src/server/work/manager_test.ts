import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/clock.ts";
import { KeptLog } from "../../../tests/support/log.ts";
import { Tasks } from "../control/tasks.ts";
import { LeaseBuffer } from "./lease_buffer.ts";
import { LoopShare } from "./loop_share.ts";
import { Manager } from "./manager.ts";
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
