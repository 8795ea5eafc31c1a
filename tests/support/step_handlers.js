/** Handlers with durable steps, loaded by real `jobs run` processes. */

function note(file, line) {
  Deno.writeTextFileSync(file, `${line}\n`, { append: true });
}

async function go(file) {
  for (;;) {
    try {
      return await Deno.stat(`${file}.go`);
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

/** Two steps. The second ends when the file `go` exists next to the notes. */
export async function TwoSteps(ctx, file) {
  const one = await ctx.step("one", () => {
    note(file, "one");
    return { big: 12345678901234567890n };
  });
  const two = await ctx.step("two", async ({ attempt, idempotencyKey }) => {
    note(file, `two ${attempt} ${idempotencyKey === `${ctx.jid}:two`}`);
    await go(file);
    return 2;
  });
  note(file, `end ${one.big} ${two}`);
}

/** Catches every error, also the one that ends the attempt. */
export async function Swallows(ctx, file) {
  try {
    await ctx.sleep("nap", 0.1);
    note(file, "woke");
  } catch {
    note(file, "caught");
  }
  return "ended";
}

/** Every kind of step. */
export async function Every(ctx, file) {
  await ctx.sleep("nap", 0.1);
  const said = await ctx.waitFor("approval", { key: `every:${ctx.jid}`, timeout: "1h" });
  const child = await ctx.run("child", "Doubles", [21]);
  const count = await ctx.each("items", (done = 0) => [1, 2, 3].slice(done), (item) => note(file, `item ${item}`));
  return { said, child, count };
}

export async function Parent(ctx) {
  return await ctx.run("child", "Doubles", [21]);
}

export async function OneStep(ctx) {
  await ctx.step("one", () => {});
  return 1;
}

export async function Attempts(ctx) {
  await ctx.step("one", ({ attempt }) => {
    if (attempt === 1) throw new TypeError("not yet");
  }, { retry: 1 });
}

export async function StepThenFails(ctx) {
  await ctx.step("one", () => {});
  throw new Error("after the step");
}
StepThenFails.options = { retry: 0 };

/** Ends when the file `go` exists. */
export async function StepThenWaits(ctx, file) {
  await ctx.step("one", () => {});
  await go(file);
  return 1;
}

/** Three steps, of which the last fails permanently. */
export async function Fails(ctx, file) {
  for (const name of ["a", "b"]) await ctx.step(name, () => note(file, name));
  await ctx.step("c", () => {
    note(file, "c");
    throw new Error("refused");
  }, { retry: 0 });
}
Fails.options = { retry: false };

/** A step that ends when the file `go` exists, next to one that fails in the first attempt. Begins another step too late. */
export async function SideBySide(ctx, file) {
  const slow = async () => {
    const value = await ctx.step("slow", async () => {
      note(file, "slow");
      await go(file);
      return crypto.randomUUID();
    });
    note(file, value);
    await ctx.step("after slow", () => note(file, `after slow ${ctx.attempt}`));
  };
  const fails = () =>
    ctx.step("fails", () => {
      note(file, "fails");
      if (ctx.attempt === 1) throw new Error("first attempt");
    });
  await Promise.all([slow(), fails()]);
  note(file, "end");
}
SideBySide.options = { retry: 1, backoff: { type: "fixed", base: "100ms" } };

/** Ends before its step, which ends when the file `go` exists. */
export function Forgets(ctx, file) {
  void ctx.step("forgotten", async () => {
    note(file, "forgotten");
    await go(file);
    note(file, "step ended");
    return 1;
  });
}

/** Begins a step when the file `go` exists, after it has ended. */
export function Late(ctx, file) {
  const late = async () => {
    await go(file);
    await ctx.step("late", () => note(file, "late"));
  };
  void late().catch((error) => note(file, error.message));
}

export function Doubles(_ctx, number) {
  return number * 2;
}

/** Yields items without end until the worker stops; then the remaining ones. */
export async function Items(ctx, file) {
  const source = function* (done = 0) {
    for (let item = done; item < 5; item++) yield item;
  };
  await ctx.each("items", source, async (item) => {
    note(file, `item ${item}`);
    if (item === 2) await new Promise((resolve) => ctx.stopping.addEventListener("abort", resolve));
  });
  note(file, `end ${ctx.attempt}`);
}

/** Twenty steps with a sleep, a signal and a child between them. A step notes its process. */
export async function Saga(ctx, file) {
  for (let i = 0; i < 20; i++) {
    if (i === 5) await ctx.sleep("nap", 0.2);
    if (i === 10) await ctx.waitFor("signal", { key: `saga:${ctx.jid}`, timeout: "1h" });
    if (i === 15) note(file, `result ${ctx.jid} ${await ctx.run("child", "SagaChild", [file, ctx.jid])}`);
    const value = await ctx.step(`step ${i}`, async () => {
      note(file, `step ${ctx.jid} ${i} ${Deno.pid}`);
      await new Promise((resolve) => setTimeout(resolve, 30));
      return crypto.randomUUID();
    });
    note(file, `value ${ctx.jid} ${i} ${value}`);
  }
  note(file, `end ${ctx.jid}`);
}

export function SagaChild(ctx, file, parent) {
  note(file, `child ${parent} ${ctx.jid}`);
  return `of:${parent}`;
}
