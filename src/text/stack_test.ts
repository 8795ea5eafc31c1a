import { assertEquals } from "@std/assert";
import { stackParts } from "./stack.ts";

const own = (path: string) => new URL(`../${path}`, import.meta.url).href;

Deno.test("folds the frames of this program and of the runtime", () => {
  const stack = [
    "at inner (file:///app/handlers.js:2:26)",
    "at Object.Boom [as perform] (file:///app/handlers.js:1:33)",
    `at ${own("server/work/processor.ts")}:279:26`,
    "at AsyncLocalStorage.run (ext:deno_node/async_hooks.ts:104:16)",
    "at async Processor.#step (file:///opt/jobs-1.2/chunk-A1.js:169:16)",
    "caused by TypeError: fetch failed",
    "at fetch (file:///app/fetch.js:1:1)",
    "at run (file:///usr/lib/jobs/src/server/work/processor.ts:275:23)",
  ];
  assertEquals(stackParts(stack).map(({ lines, isFolded }) => [lines.length, isFolded]), [
    [2, false],
    [3, true],
    [2, false],
    [1, true],
  ]);
  const python = ['File "/app/worker.py", line 3, in perform', "    return inner()"];
  assertEquals(stackParts(python), [{ lines: python, isFolded: false }]);
  assertEquals(stackParts(stack.slice(2, 4)), [{ lines: stack.slice(2, 4), isFolded: false }]);
  assertEquals(stackParts([]), []);
});
