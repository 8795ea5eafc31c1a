/**
 * Performs the cases of one tree on one store, each when its standard input says so. Requests and responses are lines of JSON.
 *
 *     deno run -A --config TREE/deno.json tests/bench/guard/subject.ts TREE STORE-URL [SERVER-PID]
 */
import { openCases } from "./cases.ts";
import { type Figures, openMeters } from "./meters.ts";

/** One step. */
export interface Request {
  readonly name: string;
  readonly jobs: number;
  /** A key of {@linkcode openMeters}. */
  readonly meter: string;
}

/** The figures of a step, or the names of the cases that the tree has. */
export interface Response {
  readonly cases?: readonly string[];
  readonly figures?: Figures;
  readonly error?: string;
}

const answer = (response: Response) => console.log(JSON.stringify(response));

async function* lines(): AsyncGenerator<string> {
  let rest = "";
  for await (const text of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + text).split("\n");
    rest = parts.pop()!;
    yield* parts;
  }
}

if (import.meta.main) {
  const [tree, url, server] = Deno.args;
  try {
    // Before the library loads: it keeps methods that are replaced later.
    const meters = openMeters(tree!, server === undefined ? undefined : Number(server));
    await using open = await openCases(tree!, url!);
    answer({ cases: Object.keys(open.cases) });
    for await (const line of lines()) {
      const { name, jobs, meter }: Request = JSON.parse(line);
      const { prepare, run, clean } = open.cases[name]!;
      await prepare?.(jobs);
      const stop = await meters[meter]!();
      await run(jobs);
      const figures = await stop();
      await clean?.();
      answer({ figures });
    }
  } catch (error) {
    answer({ error: error instanceof Error ? error.stack ?? error.message : String(error) });
  }
  Deno.exit(0); // The library's threads may still run.
}
