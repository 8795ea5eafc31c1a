/** The exchange of counts between the members of a supervisor, over real sockets and without processes. */
import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { FrameConnection } from "../../src/handlers/isolation/ipc.ts";
import { SpawnError } from "../../src/handlers/isolation/spawn_self.ts";
import { type CountsFrame, type FromMember, MemberHub, type ToMember } from "../../src/server/host/member_hub.ts";
import { type MemberCounts, MemberLink } from "../../src/server/host/member_link.ts";
import type { ServerCounts } from "../../src/server/stats/counters.ts";
import { Counters } from "../../src/server/stats/counters.ts";
import { ClassCounters } from "../../src/server/stats/counters.ts";
import { VERSION } from "../../src/version.ts";
import { FakeClock } from "../support/clock.ts";

const NAME = 'Odd "name"\n\u0000';

/** Returns the counts of a member that performed one job. */
function counted(rescued: number): ServerCounts {
  const totals = new ClassCounters();
  totals.addWait(NAME, 3_000);
  totals.add(NAME, "succeeded", 20);
  const counters = new Counters();
  counters.rescued = rescued;
  return { ...counters.counts(), classes: totals.classes, loopDelayMs: 1.5, horses: undefined };
}

/** An exchange among this many members. The first requests counts; the test plays the others. */
function exchangeAmong(count: number) {
  const stack = new AsyncDisposableStack();
  const clock = new FakeClock();
  const folder = Deno.makeTempDirSync({ prefix: "jobs-test-" });
  stack.defer(() => Deno.remove(folder, { recursive: true }));
  const address = `${folder}/socket`;
  const listener = stack.use(Deno.listen({ transport: "unix", path: address }));
  const ready: number[] = [];
  const exchange = new MemberHub(() => Array.from({ length: count }, (_, i) => i + 1));
  const tokens = new Map<string, number>();
  const ends: Promise<unknown>[] = [];
  /** Handles a connection as the supervisor does. */
  const accept = async () => {
    const socket = await listener.accept();
    const bytes = new Uint8Array(36);
    await socket.read(bytes);
    const index = tokens.get(new TextDecoder().decode(bytes))!;
    ends.push(exchange.serve(index, socket, () => ready.push(index)));
  };
  const told = (index: number) => {
    const token = crypto.randomUUID();
    tokens.set(token, index);
    return { index, parent: Deno.ppid, address, token };
  };
  const join = async (index: number, counts: ServerCounts) => {
    const options = { counts: () => counts, clock, onEnd: () => {} };
    const [peers] = await Promise.all([MemberLink.join(told(index), options), accept()]);
    return stack.use(peers!);
  };
  /** A member that replies as the test sets it. */
  const answering = async (index: number, onFrame: (frame: ToMember, say: (frame: FromMember) => void) => void) => {
    const socket = await Deno.connect({ transport: "unix", path: address });
    await socket.write(new TextEncoder().encode(told(index).token));
    await accept();
    const line = new FrameConnection<ToMember, FromMember>(socket);
    ends.push(line.read((frame) => onFrame(frame, (answer) => line.send(answer))).finally(() => socket.close()));
    stack.defer(() => socket.closeWrite());
  };
  return {
    clock,
    ready,
    /** The ends of the connections, in the order in which they began. */
    ends,
    join,
    answering,
    async [Symbol.asyncDispose]() {
      await stack.disposeAsync();
      await Promise.all(ends);
    },
  };
}

Deno.test("a member receives the counts of the others, for any class names", async () => {
  await using site = exchangeAmong(3);
  const first = await site.join(1, counted(1));
  await site.join(2, counted(2));
  await site.join(3, counted(3));
  const told = await first.counts();
  assertEquals(told.map(({ process, counts }) => [process, counts?.rescued]), [[2, 2], [3, 3]]);
  const { endings, run, wait } = told[0]!.counts!.classes.get(NAME)!;
  assertEquals([endings.succeeded, run.sum, wait.sum, run.counts.length], [1, 0.02, 3, run.bounds.length + 1]);
});

Deno.test("two requests at once each receive their replies", async () => {
  await using site = exchangeAmong(2);
  const first = await site.join(1, counted(1));
  const second = await site.join(2, counted(2));
  const told = await Promise.all([first.counts(), first.counts(), second.counts()]);
  assertEquals(told.map(([one]) => [one!.process, one!.counts?.rescued]), [[2, 2], [2, 2], [1, 1]]);
});

Deno.test("a member that does not reply delays the counts by two seconds, and its late reply is ignored", async () => {
  await using site = exchangeAmong(3);
  const first = await site.join(1, counted(1));
  await site.join(2, counted(2));
  const silent = Promise.withResolvers<() => void>();
  await site.answering(3, (frame, say) => {
    if (frame.kind !== "ask") return;
    const { id, by } = frame;
    const answer = () => say({ kind: "answer", id, to: by, counts: frameOf(VERSION) });
    if (id === 1) silent.resolve(answer);
    else answer();
  });
  const rescued = (told: readonly MemberCounts[]) => told.map(({ counts }) => counts?.rescued);
  const asking = first.counts();
  const answerLate = await silent.promise;
  // When this request is answered, the second member has also answered the other one.
  assertEquals(rescued(await first.counts()), [2, 9]);
  await site.clock.advance(1_999);
  assertEquals(site.clock.sleeping, [1]);
  await site.clock.advance(1);
  assertEquals(rescued(await asking), [2, undefined]);
  answerLate();
  assertEquals(rescued(await first.counts()), [2, 9]);
});

Deno.test("a member that is starting is not waited for, and a member of another version is ignored", async () => {
  await using site = exchangeAmong(3);
  const first = await site.join(1, counted(1));
  await site.answering(2, (frame, say) => {
    if (frame.kind === "ask") say({ kind: "answer", id: frame.id, to: frame.by, counts: frameOf("0.0.0-other") });
  });
  // The clock does not move, so the third member is not waited for.
  assertEquals(await first.counts(), [{ process: 2, counts: undefined }, { process: 3, counts: undefined }]);
});

Deno.test("the connection of a replaced member ends after that of its successor began, which keeps replying", async () => {
  await using site = exchangeAmong(2);
  const first = await site.join(1, counted(1));
  const replaced = await site.join(2, counted(2));
  await site.join(2, counted(3));
  replaced[Symbol.dispose]();
  await site.ends[1];
  assertEquals((await first.counts()).map(({ process, counts }) => [process, counts?.rescued]), [[2, 3]]);
});

Deno.test("a member reports that it takes jobs", async () => {
  await using site = exchangeAmong(2);
  const first = await site.join(1, counted(1));
  const second = await site.join(2, counted(2));
  second.ready(25_000);
  await second.counts();
  assertEquals(site.ready, [2]);
  first.ready(25_000);
  await first.counts();
  assertEquals(site.ready, [2, 1]);
});

Deno.test("a member without a parent has no peers, and a missing socket of a live parent is an error", async () => {
  const options = { counts: () => counted(0), clock: new FakeClock(), onEnd: () => {} };
  const told = { index: 1, address: "/nowhere/socket", token: "" };
  // No process has the ID -1.
  assertEquals(await MemberLink.join({ ...told, parent: -1 }, options), undefined);
  const { message } = await assertRejects(() => MemberLink.join({ ...told, parent: Deno.ppid }, options), SpawnError);
  assertMatch(message, /^Can't connect to the parent process at "\/nowhere\/socket": /);
});

function frameOf(version: string): CountsFrame {
  return { ...counted(9), classes: [], version };
}

Deno.test("a request for counts ends with the connection, without waiting for replies", async () => {
  await using site = exchangeAmong(2);
  const first = await site.join(1, counted(1));
  const asked = Promise.withResolvers<void>();
  await site.answering(2, (frame) => frame.kind === "ask" && asked.resolve());
  const asking = first.counts();
  await asked.promise;
  first[Symbol.dispose]();
  // The clock does not move.
  assertEquals(await asking, [{ process: 2, counts: undefined }]);
});
