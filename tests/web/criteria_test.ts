/** Each criterion of a filter means the same on the command line, in the API and on the pages. */
import { assertEquals } from "@std/assert";
import { CRITERIA, type CriterionName } from "../../src/operator/query/criteria.ts";
import { jobs, temporaryFolder } from "../support/process.ts";
import { bury, onBothStores, push, type Site } from "./site.ts";

const HOUR_S = 3_600;

/** Criterion → a value that matches the job `a` alone, of the jobs below; of `newer`, `b` alone. */
const VALUES: Readonly<Record<Exclude<CriterionName, "state">, string>> = {
  q: "NEEDLE",
  class: "Imp*rt",
  queue: "low*",
  group: "*-7",
  batch: "b1",
  error: "no ACCOUNT *7",
  tag: "mail*",
  older: "1h",
  newer: "1h",
};

async function fill({ store }: Site): Promise<void> {
  const now = Date.now() / 1_000;
  const [queue, group] = ["low1", "customer-7"];
  const error = { error_class: "IOError", error_message: "No account 4_7" };
  const a = { class: "Import", queue, group, batch: "b1", ...error, tags: ["x", "mailing"], args: ["a needle"] };
  await push(store, "a", { ...a, created_at: now - 2 * HOUR_S }, HOUR_S * 1_000);
  const b = {
    class: "Importer",
    queue: "high",
    group: "7-",
    batch: "b11",
    error_class: "E",
    error_message: "account",
    tags: ["e-mail"],
  };
  await push(store, "b", { ...b, created_at: now - 60 }, HOUR_S * 1_000);
}

for (const name of Object.keys(CRITERIA) as CriterionName[]) {
  if (name === "state") continue;
  onBothStores(
    `the criterion ${name} selects the same jobs on the command line, in the API and on the page`,
    async (site) => {
      await fill(site);
      const found = [name === "newer" ? "b" : "a"];
      const param = `${name}=${encodeURIComponent(VALUES[name])}`;
      const { value } = await site.visitor().api("GET", `/jobs?in=scheduled&${param}`);
      assertEquals(value.jobs.map(({ jid }: { jid: string }) => jid), found, "API");
      const { text } = await site.visitor().visit(`/scheduled?${param}`);
      assertEquals([...text.matchAll(/href="\/jobs\/(\w+)\?/g)].map(([, jid]) => jid), found, "page");
      await using folder = await temporaryFolder();
      const filter = name === "q"
        ? ["find", VALUES.q]
        : ["list", "scheduled", `--${name === "older" || name === "newer" ? `${name}-than` : name}`, VALUES[name]];
      const { stdout } = await jobs([...filter, "--json"], { env: { JOBS_STORE: site.url }, cwd: folder.path });
      assertEquals(JSON.parse(stdout).jobs.map(({ jid }: { jid: string }) => jid), found, "command line");
    },
  );
}

onBothStores("an action isn't done with an empty filter or one that would be cut", async (site) => {
  await bury(site.store, "a", { error_class: "E", error_message: "x".repeat(600) });
  const api = (all: object) =>
    site.visitor().api("POST", "/actions", { action: "delete", all: { in: "dead", ...all } });
  for (const name of ["class", "q", "older", "tag", "error"]) {
    for (const value of ["", " \t", "x".repeat(501)]) assertEquals((await api({ [name]: value })).status, 422, name);
  }
  assertEquals((await api({ error: "x".repeat(500) })).value, { changed: 1 });
});

onBothStores(
  "an action spares the jobs that only failed long ago: the age of a dead job counts from its death",
  async (site) => {
    await bury(site.store, "a", { created_at: 1.6e9, failed_at: 1.7e9 });
    const all = { in: "dead", older: "1h" };
    const { value } = await site.visitor().api("POST", "/actions", { action: "delete", all });
    assertEquals(value, { changed: 0 });
    assertEquals((await site.visitor().api("GET", "/jobs?in=dead&newer=1h")).value.jobs.length, 1);
  },
);
