/**
 * Puts mended defects back, one after the other, and measures how long the simulation takes to find each:
 * `deno run -A tests/simulation/prove.ts [NAME…]`. The defects are the patches in `defects/`: the first line of each says which
 * fault it restores, or that it is invented. Those whose name begins with `redis` are of that store.
 *
 * @module
 */
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { GROUNDS } from "./grounds.ts";
import { planOf } from "./plan.ts";
import { run } from "./run.ts";

/** A defect must be found within this time, in milliseconds. */
const MAX_MS = Number(Deno.env.get("MINUTES") ?? 10) * 60_000;
const ROOT = join(import.meta.dirname!, "../..");
const NEEDED = ["src", "tests/simulation", "tests/support", "scripts/testrun", "deno.json", "deno.lock"];

const [part, ...names] = Deno.args;
if (part !== undefined && /^\d+$/.test(part)) await find(Number(part), names[0]!);
else await proveAll(Deno.args.length > 0 ? [part!, ...names] : await allDefects());

async function allDefects(): Promise<string[]> {
  const files = await Array.fromAsync(Deno.readDir(join(import.meta.dirname!, "defects")));
  return files.map(({ name }) => name.replace(/\.patch$/, "")).sort();
}

async function proveAll(defects: readonly string[]): Promise<void> {
  let missed = 0;
  for (const defect of defects) {
    const found = await prove(defect);
    if (found === undefined) missed++;
    console.log(`${defect.padEnd(24)} ${found ?? "NOT FOUND"}`);
    console.log(`${" ".repeat(24)} ${(await Deno.readTextFile(patchOf(defect))).split("\n")[0]}`);
  }
  if (missed > 0) Deno.exit(1);
}

/** Returns how a defect was found. */
async function prove(defect: string): Promise<string | undefined> {
  const folder = await Deno.makeTempDir({ prefix: "jobs-defect-" });
  for (const path of NEEDED) await cp(join(ROOT, path), join(folder, path), { recursive: true });
  const patch = patchOf(defect);
  const store = defect.startsWith("redis") ? "redis" : "sqlite";
  const applied = await new Deno.Command("git", { args: ["apply", patch], cwd: folder, stderr: "inherit" }).output();
  if (!applied.success) throw new Error(`Defect ${defect} no longer applies: adapt ${patch}`);
  const began = performance.now();
  const parts = Array.from({ length: navigator.hardwareConcurrency }, (_, part) =>
    new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", "tests/simulation/prove.ts", String(part), store],
      cwd: folder,
      stdout: "piped",
    }).spawn());
  const timer = setTimeout(() => parts.forEach((one) => one.kill()), MAX_MS);
  const text = await Promise.race(parts.map(async ({ stdout }) => await new Response(stdout).text()));
  clearTimeout(timer);
  for (const one of parts) {
    try {
      one.kill();
    } catch {
      // It has ended.
    }
    await one.status;
  }
  await Deno.remove(folder, { recursive: true });
  return text === "" ? undefined : `${Math.ceil((performance.now() - began) / 1_000)} s, ${text.trim()}`;
}

function patchOf(defect: string): string {
  return join(ROOT, "tests/simulation/defects", `${defect}.patch`);
}

/** Runs the seeds of one processor until one fails. */
async function find(part: number, store: string): Promise<void> {
  await using ground = await GROUNDS[store]!();
  for (let seed = 1 + part;; seed += navigator.hardwareConcurrency) {
    const { failure } = await run(ground, planOf(seed));
    if (failure) return console.log(`seed ${seed}: ${failure.message}`);
  }
}
