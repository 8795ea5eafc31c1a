/** Pausing queues from the command line. */
import { assertEquals, assertMatch } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { jobs } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";

for (const kind of ["SQLite", "Redis"] as const) {
  Deno.test(`jobs pause pauses one queue or all, and jobs resume resumes them, on ${kind}`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis?.url);
    const command = (...args: string[]) => jobs([...args, "--store", bench.url]);
    await using server = await bench.server(["-q", "default", "-q", "mail"]);

    assertEquals((await command("pause", "mail")).stdout, 'Paused queue "mail"\n');
    await bench.push("Note", [bench.notes, "mail"], { queue: "mail" });
    await bench.push("Note", [bench.notes, "default"]);
    await bench.noted("default");
    assertEquals((await command("pause")).stdout, "Paused all queues\n");
    const waiting = await bench.push("Note", [bench.notes, "later"]);
    assertMatch((await command("workers")).stderr, /jobs: paused: all queues, mail\n/);
    assertMatch((await command("queues")).stdout, /all queues .*paused/);
    await using second = await bench.server([]);
    assertEquals(
      (await second.logged("Queues are paused; jobs resume ends it")).queues,
      "all queues, mail",
    );
    assertEquals((await bench.store.jobs.find([waiting])).map((entry) => entry.place.in), ["queue"]);

    await command("resume");
    await bench.noted("later");
    await command("resume", "mail");
    await bench.noted("mail");
    assertEquals(await bench.readNotes(), ["default", "later", "mail"]);
    assertEquals((await command("pause", "no|queue")).code, 2);

    assertEquals((await command("pause", "mail", "--for", "1h")).stdout, 'Paused queue "mail"\n');
    assertMatch((await command("workers")).stderr, /jobs: paused: mail \(for (1h|59m)/);
    assertMatch((await command("queues")).stdout, /mail .*paused for (1h|59m)/);
    assertMatch((await command("stats")).stdout, /mail .*paused for (1h|59m)/);
    await command("pause", "mail", "--for", "500ms");
    await bench.push("Note", [bench.notes, "by itself"], { queue: "mail" });
    await bench.noted("by itself");
    for (const wrong of ["0", "soon"]) assertEquals((await command("pause", "--for", wrong)).code, 2);
    server.kill("SIGTERM");
    await server.status();
  });
}
