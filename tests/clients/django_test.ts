/**
 * The backend of clients/python for Django's tasks, with Django from Debian's package. Debian has Django 3.2, without `django.tasks`:
 * a stand-in has its interface.
 */
import { assert, assertEquals } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { JobsProcess } from "../support/process.ts";
import { requireTool } from "../support/tools.ts";

const PROJECT = new URL("django/project.py", import.meta.url).pathname;
/** The Python that Debian's packages belong to. */
const PYTHON = "/usr/bin/python3";

Deno.test("Django's tasks are enqueued, performed, retried and read as the interface has it", async () => {
  requireTool("django-admin");
  await using bench = await Bench.open();
  const gateway = await bench.server(["--web", "0", "-q", "other"]);
  await using _gateway = gateway;
  const url = String((await gateway.logged("Ready"))["web"]).replace(/\/$/, "");
  await using worker = new JobsProcess({ store: bench.url, command: [PYTHON, PROJECT, "work", url] });
  await worker.logged("Started");
  const { success, stdout, stderr } = await new Deno.Command(PYTHON, { args: [PROJECT, "push", url] }).output();
  assert(success, new TextDecoder().decode(stderr) + worker.lines.map(({ msg }) => msg).join("\n"));
  const { deferred: [status, jid], ...rest } = JSON.parse(new TextDecoder().decode(stdout));
  assertEquals(rest, {
    receipt: [
      ...[{ order: 7, to: "ada@example.com", answer: 42 }, "SUCCESSFUL", 1, [7], { to: "ada@example.com" }],
    ],
    flaky: [true, 2],
    broken: ["FAILED", "TypeError", "TypeError: no such account"],
    // Each task has a separate thread: a connection that is kept has no further use.
    connections: [1, 1, 1],
    async: "async",
    signals: ["task_enqueued READY"],
    missing: "missing",
    invalid: "refused",
  });
  const signals = new Set(worker.lines.map(({ msg }) => msg).filter((msg) => msg.startsWith("task_")));
  assertEquals([...signals].sort(), ["task_finished FAILED", "task_finished SUCCESSFUL", "task_started RUNNING"]);
  const [entry] = await bench.store.jobs.find([jid]);
  const { class: name, priority, queue } = JSON.parse(entry!.payload);
  assertEquals([status, entry!.at, name, priority, queue], [
    ...["READY", Date.UTC(2099, 0, 2), "shop.tasks.later", "high", "default"],
  ]);
});
