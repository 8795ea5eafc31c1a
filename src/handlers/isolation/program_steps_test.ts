import { assertEquals } from "@std/assert";
import { systemClock } from "../../clock.ts";
import { KeptLog } from "../../../tests/support/log.ts";
import type { JobContext } from "../context.ts";
import { FrameConnection } from "./ipc.ts";
import { ProgramSteps } from "./program_steps.ts";
import type { FromProgram, ToProgram } from "./step_frames.ts";

/** A job whose steps run their function. */
const job = { step: (_name: string, run: (step: unknown) => unknown) => run({ signal: new AbortController().signal }) };

/** Requests step "a" with a token. Returns the kind of the first reply. */
async function firstReply(address: string, token: string): Promise<ToProgram["kind"] | undefined> {
  const socket = await Deno.connect({ transport: "unix", path: address });
  using connection = new FrameConnection<ToProgram, FromProgram>(socket);
  connection.send({ kind: "step", token, name: "a" });
  let kind: ToProgram["kind"] | undefined;
  await connection.read((frame) => {
    kind ??= frame.kind;
    void socket.closeWrite();
  });
  return kind;
}

Deno.test("a program uses the steps of its attempt, and none after the attempt has ended", async () => {
  const root = await Deno.makeTempDir({ prefix: "jobs-test-" });
  const steps = new ProgramSteps({ clock: systemClock, log: new KeptLog(), folders: [root] });
  const first = steps.open(job as unknown as JobContext, () => {});
  using second = steps.open(job as unknown as JobContext, () => {});
  const { JOBS_SOCKET: address, JOBS_TOKEN: token } = first.variables;
  assertEquals(await firstReply(address!, token!), "run");
  first[Symbol.dispose]();
  assertEquals(await firstReply(address!, token!), "ended");
  assertEquals(await firstReply(address!, second.variables.JOBS_TOKEN!), "run");
  second[Symbol.dispose]();
  assertEquals(await Array.fromAsync(Deno.readDir(root)), [], "the socket is gone with the last program");
  await Deno.remove(root, { recursive: true });
});

Deno.test("a program uses steps after the socket of those that run was deleted, also with one of them running", async () => {
  const root = await Deno.makeTempDir({ prefix: "jobs-test-" });
  const steps = new ProgramSteps({ clock: systemClock, log: new KeptLog(), folders: [root] });
  {
    using _first = steps.open(job as unknown as JobContext, () => {});
    for await (const { name } of Deno.readDir(root)) await Deno.remove(`${root}/${name}`, { recursive: true });
    using second = steps.open(job as unknown as JobContext, () => {});
    const { JOBS_SOCKET: address, JOBS_TOKEN: token } = second.variables;
    assertEquals(await firstReply(address!, token!), "run");
  }
  assertEquals(await Array.fromAsync(Deno.readDir(root)), []);
  await Deno.remove(root, { recursive: true });
});

Deno.test("a program starts without steps if no socket can be opened", () => {
  const steps = new ProgramSteps({ clock: systemClock, log: new KeptLog(), folders: ["/proc/none"] });
  using session = steps.open(job as unknown as JobContext, () => {});
  assertEquals(session.variables, {});
});
