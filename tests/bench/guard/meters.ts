/**
 * Measures the cost of a step in this process and the server of its store: processor time, counts that other programs on the machine don't change, and
 * the rooms of `src/` in which it happens.
 *
 * @module
 */
import inspector from "node:inspector";
import { Socket } from "node:net";
import process from "node:process";
import { DatabaseSync, StatementSync } from "node:sqlite";
import { getHeapStatistics } from "node:v8";
import { childrenOf } from "../../soak/processes.ts";
import { countInstructions } from "./perf.ts";

/** Figures by name. */
export type Figures = Readonly<Record<string, number>>;

/** Starts to measure; the returned function ends it. */
export type Meter = () => Promise<() => Figures | Promise<Figures>>;

/** Returns the meters by name. `server`: the process of the store's server, if there is one. */
export function openMeters(tree: string, server: number | undefined): Readonly<Record<string, Meter>> {
  const others = () => server === undefined ? [] : [server, ...childrenOf(server)];
  const post = openInspector();
  const sockets = new Set<Socket>();
  intercept(Socket.prototype, "connect", function () {
    sockets.add(this);
  });
  return {
    time() {
      const before = process.cpuUsage();
      const servers = new Map(others().map((pid) => [pid, cpuMicrosOf(pid)]));
      return Promise.resolve(() => {
        const { user, system } = process.cpuUsage(before);
        // PostgreSQL starts and ends processes meanwhile.
        const theirs = others().map((pid) => Math.max(0, cpuMicrosOf(pid) - (servers.get(pid) ?? 0)));
        return { time: user + system + sum(theirs) };
      });
    },
    async counts() {
      const instructions = await countInstructions([Deno.pid, ...others()]);
      const allocated = allocatedBytes();
      const counted = countCalls(sockets);
      return async () => {
        const figures = { allocated: allocatedBytes() - allocated, ...counted(), ...await instructions?.() };
        return Object.fromEntries(Object.entries(figures).filter(([, value]) => value > 0));
      };
    },
    async calls() {
      await post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
      return async () => {
        const { result } = await post<Coverage>("Profiler.takePreciseCoverage");
        await post("Profiler.stopPreciseCoverage");
        const rooms: Record<string, number> = {};
        for (const { url, functions } of result) {
          const room = roomOf(tree, url);
          if (room === undefined) continue;
          rooms[room] = (rooms[room] ?? 0) + sum(functions.map(({ ranges }) => ranges[0]!.count));
        }
        return rooms;
      };
    },
    async profile() {
      await post("Profiler.setSamplingInterval", { interval: 200 });
      await post("Profiler.start");
      return async () => shares((await post<{ readonly profile: Profile }>("Profiler.stop")).profile, tree);
    },
  };
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
/** Exists since V8 14; `@types/node` doesn't have it. */
const allocatedBytes = () =>
  (getHeapStatistics() as unknown as { total_allocated_bytes: number }).total_allocated_bytes;

/** The processor time of another process and its threads, in microseconds. 0 if it has ended. */
function cpuMicrosOf(pid: number): number {
  try {
    return sum(
      [...Deno.readDirSync(`/proc/${pid}/task`)].map(({ name }) =>
        Number(Deno.readTextFileSync(`/proc/${pid}/task/${name}/schedstat`).split(" ")[0]) / 1_000
      ),
    );
  } catch {
    return 0;
  }
}

/**
 * Starts to count statements of SQLite, and what goes over the sockets: requests and bytes. Requests of Redis are its commands,
 * those of PostgreSQL its executions. Returns a function that ends it.
 */
function countCalls(sockets: ReadonlySet<Socket>): () => Figures {
  let statements = 0;
  let requests = 0;
  using stack = new DisposableStack();
  for (const name of ["run", "get", "all", "iterate"] as const) {
    stack.defer(intercept(StatementSync.prototype, name, () => statements++));
  }
  stack.defer(intercept(DatabaseSync.prototype, "exec", () => statements++));
  stack.defer(intercept(Socket.prototype, "write", (data) => requests += requestsIn(data)));
  const over = (name: "bytesRead" | "bytesWritten") => sum([...sockets].map((socket) => socket[name] ?? 0));
  const [sent, received] = [over("bytesWritten"), over("bytesRead")];
  const restore = stack.move();
  return () => {
    restore.dispose();
    return { statements, requests, sent: over("bytesWritten") - sent, received: over("bytesRead") - received };
  };
}

// deno-lint-ignore no-explicit-any -- any method of a prototype
function intercept<Of extends object>(prototype: Of, name: keyof Of, before: (this: Of, argument: any) => void) {
  const original = prototype[name];
  const method = original as (...args: unknown[]) => unknown;
  prototype[name] = function (this: Of, ...args: unknown[]) {
    before.call(this, args[0]);
    return method.apply(this, args);
  } as typeof original;
  return () => {
    prototype[name] = original;
  };
}

/** Returns how many commands of Redis, or executions of PostgreSQL, a chunk has. */
function requestsIn(data: unknown): number {
  if (typeof data === "string") return data.match(/\*\d+\r\n\$\d+\r\n/g)?.length ?? 0;
  if (!(data instanceof Uint8Array)) return 0;
  if (data[0] === "*".charCodeAt(0)) return requestsIn(new TextDecoder("latin1").decode(data));
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  let found = 0;
  // A type of one byte, a length that counts itself.
  for (let at = 0; at + 5 <= data.length; at += 1 + Math.max(4, view.getUint32(at + 1))) {
    if (data[at] === "E".charCodeAt(0) || data[at] === "Q".charCodeAt(0)) found++;
  }
  return found;
}

interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly { readonly ranges: readonly { readonly count: number }[] }[];
  }[];
}

interface Profile {
  readonly nodes: readonly {
    readonly id: number;
    readonly children?: readonly number[];
    readonly callFrame: { readonly functionName: string; readonly url: string };
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** Returns the share of each room in a profile, of which native code belongs to its caller. */
function shares({ nodes, samples, timeDeltas }: Profile, tree: string): Record<string, number> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const roomById = new Map<number, string>();
  const walk = (id: number, caller: string): void => {
    const { callFrame: { functionName, url }, children = [] } = byId.get(id)!;
    const own = functionName === "(garbage collector)" ? "garbage collection" : roomOf(tree, url);
    const room = own ?? caller;
    roomById.set(id, functionName === "(idle)" ? "idle" : room);
    for (const child of children) walk(child, room);
  };
  walk(nodes[0]!.id, "runtime");
  const rooms: Record<string, number> = {};
  samples.forEach((id, i) => {
    const room = roomById.get(id)!;
    if (room !== "idle") rooms[room] = (rooms[room] ?? 0) + Math.max(0, timeDeltas[i + 1] ?? 0);
  });
  const total = sum(Object.values(rooms));
  return Object.fromEntries(Object.entries(rooms).map(([room, micros]) => [room, micros / total]));
}

/** Returns the room of a module: `src/store/redis`, `clients`, or the name of a package; undefined outside of the tree. */
export function roomOf(tree: string, url: string): string | undefined {
  const path = decodeURIComponent(url.replace(/^file:\/\//, ""));
  const npm = path.match(/\/npm\/[^/]+\/((?:@[^/]+\/)?[^/]+)\//)?.[1];
  if (npm !== undefined) return `npm:${npm}`;
  if (!path.startsWith(`${tree}/`)) return undefined;
  const folders = path.slice(tree.length + 1).split("/").slice(0, -1);
  if (folders[0] === "tests") return undefined; // The cases and these meters.
  return folders.slice(0, folders[0] === "src" ? 3 : 1).join("/");
}

/** Opens the inspector of this thread. */
function openInspector(): <Result>(method: string, params?: Record<string, unknown>) => Promise<Result> {
  let session: inspector.Session | undefined;
  return async <Result>(method: string, params: Record<string, unknown> = {}) => {
    const send = (name: string, params: Record<string, unknown>) =>
      new Promise<Result>((resolve, reject) =>
        session!.post(name, params, (error, result) => error ? reject(error) : resolve(result as Result))
      );
    if (session === undefined) {
      session = new inspector.Session();
      session.connect();
      await send("Profiler.enable", {});
    }
    return await send(method, params);
  };
}
