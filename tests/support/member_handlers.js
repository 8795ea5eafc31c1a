/** Handlers of members of batches and nodes of flows, for the random program of `tests/chaos/batches/`. */

function note(file, line) {
  Deno.writeTextFileSync(file, `${line}\n`, { append: true });
}

function exists(file) {
  try {
    Deno.statSync(file);
    return true;
  } catch {
    return false;
  }
}

/**
 * Behaves as `how` says, and returns its jid.
 *
 * @param folder has the notes, and a file `mended-JID` for each job that no longer fails
 * @param n how many members it adds, how often it fails, or how long it takes
 */
export async function Member(ctx, how, folder, n) {
  note(`${folder}/notes`, `start ${ctx.jid}`);
  try {
    await BEHAVIOURS[how](ctx, folder, n);
  } finally {
    note(`${folder}/notes`, `end ${ctx.jid}`);
  }
  return ctx.jid;
}
Member.options = { retry: 25, retryIn: () => 0.05, log_level: "warn" };

const BEHAVIOURS = {
  ok() {},
  slow: (ctx, _folder, ms) => sleep(ms, ctx.signal),
  flaky(ctx, _folder, failures) {
    if (ctx.attempt <= failures) throw intended("Planned");
  },
  snooze(ctx) {
    if (Math.random() < 0.5) ctx.snooze(0.05);
  },
  discard(ctx) {
    ctx.discard("intended");
  },
  dead(ctx, folder) {
    if (!exists(`${folder}/mended-${ctx.jid}`)) ctx.kill("intended");
  },
  async adder(ctx, folder, count) {
    for (let i = 1; i <= count; i++) {
      try {
        await ctx.batch.add("Member", ["slow", folder, 5], { jid: `${ctx.jid}a${i}` });
      } catch (error) {
        // The batch was cancelled, or this worker is offline.
        if (error?.name !== "BatchError") throw error;
      }
    }
  },
};

function intended(name) {
  return Object.assign(new Error("Intended"), { name });
}

function sleep(ms, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => (clearTimeout(timer), reject(signal.reason));
    const timer = setTimeout(() => (signal?.removeEventListener("abort", stop), resolve()), ms);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop);
  });
}
