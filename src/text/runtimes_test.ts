import { assertEquals } from "@std/assert";
import { runtimeOf } from "../store/ops/runtimes.ts";
import { canIsolate, startAdvice, startCommand, startHint } from "./runtimes.ts";
import { stallHint } from "./stalls.ts";

const worker = (version: string, queues: readonly string[], classes?: readonly string[]) => ({
  version,
  queues,
  classes,
});
const PYTHON = worker("python 3.11.2, jobs-client 0.1", ["mail"], ["Mail"]);
const NODE = worker("node 20.20.2, jobs-client 0.1", ["pdf"], ["Pdf"]);
const OWN = worker("0.1.0", ["default", "low"], ["Report"]);

Deno.test("names the command that starts a worker in the runtime of a queue's workers", () => {
  assertEquals(startCommand([PYTHON, NODE, OWN], ["mail"]), "python3 worker.py");
  assertEquals(startCommand([PYTHON, NODE, OWN], ["pdf"]), "node worker.mjs");
  assertEquals(startCommand([worker("ruby 3.1.2, jobs-client 0.1", ["default"])], ["new"]), "ruby worker.rb");
  assertEquals(startCommand([PYTHON, NODE, OWN], ["a b"]), "jobs run handlers.js -q 'a b'");
  assertEquals(startCommand([PYTHON, NODE], ["new"]), "jobs run handlers.js -q new");
  assertEquals(startCommand([]), "jobs run handlers.js");
  const known = [startAdvice([PYTHON, NODE, OWN], ["mail"]), startAdvice([OWN], ["new"])];
  assertEquals(known, ["python3 worker.py", "jobs run handlers.js -q new"]);
  const other = "the program of a worker over HTTP, such as python3 worker.py";
  for (const unknown of [[], [PYTHON, NODE], [PYTHON, OWN]]) {
    assertEquals(startAdvice(unknown, ["new"]), `jobs run handlers.js -q new, or ${other}`);
    assertEquals(startHint(unknown), `The command starts a worker of jobs run; ${other}, serves as well.`);
  }
  assertEquals(startHint([OWN]), undefined);
  assertEquals([runtimeOf("8.1.7"), runtimeOf("perl 5, mine 1")], [undefined, "other"]);
});

Deno.test("suggests isolation only for classes that jobs run performs", () => {
  const workers = [PYTHON, OWN];
  const classes = ["Mail", "Report", "Unknown", undefined];
  assertEquals(classes.map((name) => canIsolate(workers, name)), [false, true, true, true]);
  assertEquals(canIsolate([PYTHON], "Unknown"), false);
  const stall = { is: "ignores-signal", worker: "w", since: 0 } as const;
  assertEquals(stallHint(stall).includes("isolate: true"), true);
  assertEquals(
    stallHint({ ...stall, runtime: "python" }),
    "a stop of its worker ends it; look at ctx.aborted in the handler",
  );
});
