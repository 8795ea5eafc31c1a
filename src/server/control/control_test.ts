import { assertEquals } from "@std/assert";
import { logger } from "../../log/log.ts";
import { FakeClock } from "../../../tests/support/clock.ts";
import { control } from "./control.ts";
import { Inbox } from "./signals.ts";
import { Tasks } from "./tasks.ts";

Deno.test("a dump whose reply the store doesn't take delays no other request", async () => {
  const clock = new FakeClock();
  const inbox = new Inbox();
  const acts: string[] = [];
  const act = (what: string) => () => void acts.push(what);
  const replied = Promise.withResolvers<void>();
  const ended = control(inbox, {
    stop: () => Promise.resolve(act("stop")()),
    quiet: act("quiet"),
    resume: act("resume"),
    dump: () => ["a task"],
    reopen: act("reopen"),
    reload: act("reload"),
  }, { tasks: new Tasks(clock), log: logger("control", clock) });
  const reply = (text: string) => {
    acts.push(text);
    return replied.promise;
  };
  inbox.put({ verb: "dump", by: "command", reply });
  inbox.put({ verb: "quiet", by: "SIGTSTP" });
  inbox.put({ verb: "stop", by: "SIGTERM" });
  await ended;
  assertEquals(acts, ["a task", "quiet", "stop"]);
  // Too late: nothing awaits it, and it must not end the process.
  replied.reject(new Error("no reply"));
});

Deno.test("a stop doesn't wait for a reload whose file can't be read, and reloads come one after the other", async () => {
  const clock = new FakeClock();
  const inbox = new Inbox();
  const acts: string[] = [];
  const act = (what: string) => () => void acts.push(what);
  const read = Promise.withResolvers<void>();
  let reloads = 0;
  const reload = async () => {
    const number = ++reloads;
    await read.promise;
    acts.push(`reload ${number}`);
  };
  const ended = control(inbox, {
    stop: () => Promise.resolve(act("stop")()),
    quiet: act("quiet"),
    resume: act("resume"),
    dump: () => [],
    reopen: act("reopen"),
    reload,
  }, { tasks: new Tasks(clock), log: logger("control", clock) });
  for (const verb of ["reload", "reload", "reopen", "stop"] as const) inbox.put({ verb, by: "a signal" });
  await ended;
  assertEquals([acts, reloads], [["reopen", "stop"], 1]);
  read.reject(new Error("a failed reload must not end the process"));
});
