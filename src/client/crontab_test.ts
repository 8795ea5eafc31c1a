import { assert, assertRejects } from "@std/assert";
import { systemClock } from "../clock.ts";
import { CrontabError } from "../cron/crontab.ts";
import { openStore } from "../store/open.ts";
import { Client } from "./client.ts";
import { Crontab } from "./crontab.ts";

Deno.test("the check of many cron entries lets other work run", async () => {
  await using store = await openStore("sqlite::memory:");
  const crontab = new Crontab({ store, client: new Client({ store }) });
  const entries = Array.from(
    { length: 1_000 },
    (_, i) => ({ name: `${i}`, rule: `${i % 60} 9 * * *`, class: "Report" }),
  );
  let turns = 0;
  let isOver = false;
  const other = (async () => {
    for (; !isOver; turns++) await systemClock.turn();
  })();
  await assertRejects(() => crontab.addMany([...entries, { ...entries[0]!, rule: "x" }]), CrontabError, "entry");
  isOver = true;
  await other;
  assert(turns > 2, `${turns} turns`);
});
