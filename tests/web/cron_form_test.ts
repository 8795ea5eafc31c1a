import { readEvents } from "../../src/store/admin/audit.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { Client } from "../../src/client/client.ts";
import { Crontab } from "../../src/client/crontab.ts";
import { entryInput } from "../../src/cron/entry_input.ts";
import { onBothStores } from "./site.ts";

onBothStores(
  "checks, adds and changes an entry in a form; an error appears at its field",
  async (site) => {
    const { store, visitor } = site;
    const crontab = new Crontab({ store, client: new Client({ store }) });
    const someone = visitor();
    assertStringIncludes((await someone.visit("/cron")).text, 'href="/cron-new"');
    const fields = {
      name: "nightly",
      rule: "30 3 * * *",
      timezone: "Europe/London",
      class: "Report",
      args: '["a"]',
      queue: "low",
    };

    const wrong = await someone.submit(
      "/cron-new",
      { ...fields, rule: "61 3 * * *", queue: "a b", args: "[" },
      "/cron-new",
    );
    assertEquals(wrong.status, 422);
    assertStringIncludes(wrong.text, "Arguments: invalid JSON");
    const wrongRule = await someone.submit("/cron-new", { ...fields, rule: "61 3 * * *", every: "5m" }, "/cron-new");
    assertStringIncludes(wrongRule.text, "Both a cron expression and an interval; expected one of them");
    const nothing = await someone.submit("/cron-new", { args: "[]" }, "/cron-new");
    assertStringIncludes(nothing.text, "Missing: expected a text of at most 200 characters");
    assertStringIncludes(nothing.text, "Neither a cron expression nor an interval; expected one of them");
    assertStringIncludes(wrongRule.text, 'value="61 3 * * *"');
    assertStringIncludes(
      (await someone.submit("/cron-new", { ...fields, rule: "61 3 * * *" }, "/cron-new")).text,
      "61",
    );

    const looked = await someone.submit("/cron-new", { ...fields, do: "check" }, "/cron-new");
    assertEquals(looked.status, 200);
    assertStringIncludes(looked.text, "Runs at 03:30 every day");
    assertEquals(looked.text.match(/<td class="when">\d{4}-\d\d-\d\d 0[23]:30:00 UTC/g)?.length, 5);
    assertStringIncludes(looked.text, 'value="nightly"');
    assertEquals((await crontab.page()).entries, []);

    const added = await someone.submit("/cron-new", fields, "/cron-new");
    assertStringIncludes(added.text, "Cron entry nightly runs at 03:30 every day");
    assertStringIncludes(added.text, 'href="/cron/nightly/edit"');
    const again = await someone.submit("/cron-new", fields, "/cron-new");
    assertEquals(again.status, 422);
    assertStringIncludes(again.text, "already exists");

    const form = (await someone.visit("/cron/nightly/edit")).text;
    for (const shown of ['value="0 30 3 * * *"', 'value="Europe/London"', 'value="Report"', 'value="low"']) {
      assertStringIncludes(form, shown);
    }
    const every = { ...fields, rule: "", timezone: "", every: "90s", queue: "" };
    const changed = await someone.submit("/cron/nightly/edit", every, "/cron/nightly/edit");
    assertStringIncludes(changed.text, "Cron entry nightly runs every 90 seconds");
    const [entry] = (await crontab.page()).entries;
    const input = entryInput(entry!.definition!);
    assertEquals([input.every, input.rule, input.queue, input.args], ["1m30s", undefined, undefined, ["a"]]);
    assertEquals(
      (await readEvents(store)).events.map(({ action, target, outcome }) => [action, target, outcome?.split(":")[0]]),
      [
        ["cron edit", "nightly", undefined],
        ["cron add", "nightly", "refused"],
        ["cron add", "nightly", undefined],
      ],
    );
    assertEquals((await someone.visit("/cron/unknown/edit")).status, 404);
  },
);

onBothStores(
  "the API adds an entry and changes the given fields; other fields and secrets stay",
  async ({ store, visitor }) => {
    const crontab = new Crontab({ store, client: new Client({ store }) });
    const someone = visitor();
    const entry = {
      name: "sync",
      every: "5m",
      class: "Sync",
      args: [{ password: "hunter2", table: "a" }],
      queue: "low",
      overlap: "skip",
      options: { tenant: 7 },
      memo: "for Ann",
    };
    const added = await someone.api("POST", "/cron", entry);
    assertEquals([added.status, added.value.when, added.value.next.length], [201, "every 5 minutes", 5]);
    assertEquals((await someone.api("POST", "/cron", entry)).status, 422);
    const shown = (await someone.api("GET", "/cron/sync")).value.entry;
    assertEquals(shown.args, [{ password: "••••••", table: "a" }]);
    const args = [{ ...shown.args[0], table: "b" }];
    const changed = await someone.api("POST", "/cron/sync/edit", { rule: "0 3 * * *", args });
    assertEquals([changed.status, changed.value.when], [200, "at 03:00 every day, UTC"]);
    const { definition } = (await crontab.get("sync"))!;
    const { catchUp: _, catchUpWindow: __, everyProcess: ___, ...input } = entryInput(definition!);
    const { every: ____, ...rest } = entry;
    assertEquals<unknown>(input, {
      ...rest,
      rule: "0 0 3 * * *",
      timezone: "UTC",
      args: [{ password: "hunter2", table: "b" }],
    });
    const refused: [unknown, string][] = [
      [{ name: "x", class: "A" }, "neither"],
      [{ name: "x", class: "A", every: "5m", rule: "* * * * *" }, "both"],
      [{ name: "x", class: "A", rule: "61 * * * *" }, "61"],
      [{ name: 7, class: "A", every: "5m" }, '"name" is 7'],
      [{ name: "x", class: "A", every: "5m", enable: false }, "enable"],
      [{ name: "x", class: "A", every: "5m", nonsense: 1 }, 'unknown field "nonsense"'],
      [{ class: "A", every: "5m" }, '"name"'],
    ];
    for (const [body, why] of refused) {
      const { status, value } = await someone.api("POST", "/cron", body);
      assertEquals(status, 422, why);
      assertStringIncludes(value.error.message, why);
    }
    assertEquals((await someone.api("POST", "/cron/unknown/edit", {})).status, 404);
    const lossless = await someone.send("/api/v1/cron", {
      method: "POST",
      body: '{"name":12345678901234567890,"class":"A","every":"5m","args":[12345678901234567890]}',
      headers: { "content-type": "application/json" },
    });
    assertEquals(lossless.status, 422);
    const document = (await someone.api("GET", "/openapi.json")).value;
    assert(document.paths["/cron"].post && document.paths["/cron/{name}/edit"].post);
  },
);

onBothStores(
  "entries of a configuration can't be changed here, and a reader changes nothing",
  async ({ store, visitor }) => {
    const definition = JSON.stringify({
      name: "fixed",
      schedule: { rule: "0 0 3 * * *", timezone: "UTC" },
      class: "A",
      args: [],
      options: {},
      overlap: "allow",
      catchUp: { policy: "last", windowMs: 1 },
      everyProcess: false,
      source: "config",
    });
    await store.cron.write([{
      name: "fixed",
      version: 0,
      definition,
      state: "{}",
      jobs: [],
      awaited: false,
      records: [],
    }]);
    const someone = visitor();
    const answer = await someone.visit("/cron/fixed/edit");
    assertEquals(answer.status, 422);
    assertStringIncludes(answer.text, "in a configuration");
    assertEquals((await someone.api("POST", "/cron/fixed/edit", { every: "5m" })).status, 422);
    assertEquals((await someone.api("POST", "/cron", { name: "fixed", class: "A", every: "5m" })).status, 422);
  },
);

onBothStores("the form has the bounds of an entry and its tags", async ({ store, visitor }) => {
  const crontab = new Crontab({ store, client: new Client({ store }) });
  const someone = visitor();
  const fields = {
    ...{ name: "bounded", rule: "0 9 * * *", class: "Report", args: "[]", tags: "reports, daily", spread: "10m" },
    ...{ start: "2099-01-01T00:00:00Z", count: "3" },
  };
  const wrong = await someone.submit("/cron-new", { ...fields, start: "soon", count: "x", spread: "2d" }, "/cron-new");
  assertEquals(wrong.status, 422);
  for (const name of ["start", "count", "spread"]) assertStringIncludes(wrong.text, `id="${name}-error"`);
  await someone.submit("/cron-new", fields, "/cron-new");
  const stored = async () => {
    const { start, end, spread, tags } = entryInput((await crontab.get("bounded"))!.definition!);
    return { start, end, spread, tags };
  };
  const bounds = { start: "2099-01-01T00:00:00Z", end: "2099-01-03T09:00:00Z", spread: "10m" };
  assertEquals(await stored(), { ...bounds, tags: ["reports", "daily"] });
  const form = (await someone.visit("/cron/bounded/edit")).text;
  for (const value of [...Object.values(bounds), "reports, daily"]) assertStringIncludes(form, `value="${value}"`);
  const { start, spread } = bounds;
  await someone.submit(
    "/cron/bounded/edit",
    { ...fields, start, spread, count: "", end: "", tags: "x" },
    "/cron/bounded/edit",
  );
  assertEquals(await stored(), { start, end: undefined, spread, tags: ["x"] });
  assertEquals((await someone.api("POST", "/cron/bounded/edit", { end: bounds.end })).status, 200);
  assertEquals((await someone.api("POST", "/cron/bounded/edit", { count: 2 })).status, 200);
  assertEquals((await stored()).end, "2099-01-02T09:00:00Z");
});

onBothStores("the API adds, pauses, resumes and removes many entries", async ({ store, visitor }) => {
  const crontab = new Crontab({ store, client: new Client({ store }) });
  const someone = visitor();
  const bulk = async (verb: string, body: unknown) => {
    const { status, value } = await someone.api("POST", `/cron-bulk/${verb}`, body);
    return [status, value.count ?? value.error.message];
  };
  const entries = Array.from(
    { length: 120 },
    (_, i) => ({ name: `acme:${i}`, every: "1h", class: "Report", tags: [`t${i % 2}`] }),
  );
  assertEquals(await bulk("add", { entries: [...entries, { name: "other", every: "1h", class: "Report" }] }), [
    200,
    121,
  ]);
  assertEquals(await bulk("add", { entries, replace: true }), [200, 0]);
  const [taken, why] = await bulk("add", { entries });
  assertEquals(taken, 422);
  assertStringIncludes(why, '"acme:0" already exists');
  const [invalid, problems] = await bulk("add", {
    entries: [{ name: "new", every: "1h", class: "Report" }, { name: "x" }],
  });
  assertEquals(invalid, 422);
  assertStringIncludes(problems, 'neither "rule" nor "every"');
  assertEquals(await crontab.get("new"), undefined, "none is added");
  assertEquals((await bulk("add", { entries: Array(1_001).fill(entries[0]) }))[0], 422);
  assertEquals(await bulk("pause", { prefix: "acme:" }), [200, 120]);
  assertEquals(await bulk("resume", { prefix: "acme:", tag: "t1" }), [200, 60]);
  assertEquals((await bulk("pause", {}))[0], 422);
  const [unsure, question] = await bulk("remove", { prefix: "acme:", confirm: false });
  assertEquals(unsure, 422);
  assertStringIncludes(question, 'all entries with prefix acme:; confirm it with "confirm": true');
  assertEquals((await bulk("remove", { prefix: "acme:" }))[0], 422);
  assertEquals(await bulk("remove", { prefix: "acme:", confirm: true }), [200, 120]);
  assertEquals((await crontab.page()).entries.map(({ name }) => name), ["other"]);
  const deeds = (await readEvents(store)).events.filter(({ outcome }) => outcome === undefined);
  assertEquals(deeds.map(({ action, target, count }) => [action, target, count]), [
    ["cron remove", "prefix acme:", 120],
    ["cron resume", "prefix acme:, tag t1", 60],
    ["cron pause", "prefix acme:", 120],
    ["cron add", "121 entries", 121],
  ]);
});

onBothStores(
  "an entry whose name has its owner before a slash is paused, found by that prefix, and removed",
  async (site) => {
    const crontab = new Crontab({ store: site.store, client: new Client({ store: site.store }) });
    for (const name of ["acme/report", "acme/invoices", "acmeco/report"]) {
      await crontab.add({ name, every: "1d", class: "Report", tags: ["reports"] });
    }
    const someone = site.visitor();
    const page = (await someone.visit("/cron?prefix=acme%2F")).text;
    for (const name of ["acme/report", "acme/invoices"]) {
      assertStringIncludes(
        page,
        `/cron/${encodeURIComponent(name)}"`,
      );
    }
    assert(!page.includes("acmeco"));
    assertStringIncludes((await someone.visit("/cron/acme%2Freport")).text, "acme/report");
    await someone.submit("/cron/acme%2Freport/pause", {}, "/cron/acme%2Freport");
    assertEquals((await crontab.get("acme/report"))?.state?.paused, true);
    assertEquals((await someone.api("GET", "/cron/acme%2Freport")).value.entry.paused, true);
    const { value } = await someone.api("POST", "/cron-bulk/remove", { prefix: "acme/", confirm: true });
    assertEquals(value.count, 2);
    assertEquals((await crontab.page()).entries.map(({ name }) => name), ["acmeco/report"]);
  },
);
