/**
 * The animated picture of `jobs top` in the README: two workers of a shop under live traffic, recorded in tmux.
 *
 *   deno run -A scripts/top_picture.ts [FILE]
 */
import { Client } from "../src/client/client.ts";
import { openStore } from "../src/store/open.ts";
import { animate } from "./terminal_svg.ts";
import { denoCommand } from "./deno_command.ts";

const ROOT = new URL("../", import.meta.url).pathname;
const FILE = Deno.args[0] ?? `${ROOT}docs/pictures/top.svg`;
const COLUMNS = 104;
const ROWS = 27;
const FRAME_MS = 600;
/** The keys that are pressed before a frame is taken, by its number. */
const KEYS: Readonly<Record<number, readonly string[]>> = {
  7: ["Down"],
  10: ["Tab"],
  11: ["Down"],
  14: ["Tab"],
  16: ["Enter"],
  24: ["Escape"],
};
const FRAMES = 30;

const HANDLERS = `
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export async function SendMail(ctx) { await sleep(120 + Math.random() * 200); }
export async function ResizeImage(ctx) { await sleep(500 + Math.random() * 900); }
export async function CreateInvoice(ctx, order) {
  await sleep(300 + Math.random() * 500);
  if (order % 9 === 0) throw new Error("No VAT rate for NO");
}
export async function ImportCatalogue(ctx, file) {
  for (let row = 0; row <= 8000; row += 160) {
    ctx.progress(row, "of 8000 rows");
    ctx.log.info(\`Row \${row} of \${file}\`);
    await sleep(600);
  }
}
SendMail.options = { queue: "mail" };
ResizeImage.options = { queue: "images" };
CreateInvoice.options = { queue: "billing", retry: 3 };
ImportCatalogue.options = { queue: "imports" };
`;

// The picture shows the path of the store.
const folder = await Deno.makeTempDir({ dir: "/tmp", prefix: "shop-" });
const jobs = denoCommand("run", "-A", "--no-check", `${ROOT}main.ts`);
const env = { JOBS_STORE: `sqlite:${folder}/jobs.db`, JOBS_LOG_FILE: `${folder}/log`, LANG: "C.UTF-8" };
await Deno.writeTextFile(`${folder}/handlers.mjs`, HANDLERS);
const queues = ["mail", "billing", "images", "imports"].flatMap((queue) => ["-q", queue]);
const workers = [8, 4].map((concurrency) =>
  new Deno.Command(jobs[0]!, {
    args: [...jobs.slice(1), "run", `${folder}/handlers.mjs`, ...queues, "-c", `${concurrency}`, "--tag", "shop"],
    env,
    stdin: "null",
  }).spawn()
);
const tmux = async (...args: string[]): Promise<string> => {
  const command = new Deno.Command("tmux", { args: ["-L", `jobs-top-${Deno.pid}`, "-f", "/dev/null", ...args], env });
  const { success, stdout, stderr } = await command.output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
};
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

try {
  await using store = await openStore(env.JOBS_STORE);
  const client = new Client({ store, onUnregistered: () => {} });
  while ((await store.workers.list()).length < workers.length) await wait(200);
  const push = (name: string, queue: string, arg: unknown, more = {}) => client.push(name, [arg], { queue, ...more });
  for (const name of ["nordholz", "linea", "kiln"]) await push("ImportCatalogue", "imports", `${name}.csv`);
  for (let i = 0; i < 12; i++) await push("SendMail", "mail", { cart: 9_120 + i }, { in: 600 + 300 * i });
  let pushed = 48_210;
  const traffic = setInterval(async () => {
    pushed++;
    for (let i = 0; i < 2 + pushed % 5; i++) await push("SendMail", "mail", { order: pushed });
    for (let i = 0; i < 1 + pushed % 2; i++) await push("ResizeImage", "images", `oak-chair-${pushed % 40}-${i}.jpg`);
    await push("CreateInvoice", "billing", pushed);
  }, 300);
  try {
    await wait(6_000);
    const shell = [...jobs, "top", "--interval", "500ms"].map((word) => `'${word}'`).join(" ");
    await tmux("new-session", "-d", "-x", `${COLUMNS}`, "-y", `${ROWS}`, shell);
    await wait(3_000);
    const frames: string[] = [];
    for (let i = 0; i < FRAMES; i++) {
      const keys = KEYS[i];
      if (keys !== undefined) await tmux("send-keys", ...keys);
      await wait(FRAME_MS);
      frames.push(await tmux("capture-pane", "-e", "-p"));
    }
    const title = "jobs top: workers, queues and running jobs, live";
    await Deno.writeTextFile(FILE, animate(frames, { columns: COLUMNS, rows: ROWS, frameMs: FRAME_MS, title }));
    console.log(`${FILE}: ${Math.round((await Deno.stat(FILE)).size / 1_000)} kB`);
  } finally {
    clearInterval(traffic);
    await tmux("kill-server").catch(() => {});
  }
} finally {
  for (const worker of workers) worker.kill("SIGTERM");
  await Promise.all(workers.map((worker) => worker.status));
  await Deno.remove(folder, { recursive: true });
}
