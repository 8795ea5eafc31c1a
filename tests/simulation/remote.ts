/**
 * A program whose jobs come over HTTP, and the server that performs a worker's part for it. Requests are late, lost before or after
 * their execution, or arrive twice; both processes are killed and frozen.
 *
 * @module
 */
import { workRoutes } from "../../src/web/api/work.ts";
import { HttpError } from "../../src/web/http/body.ts";
import { Gateway } from "../../src/remote/gateway.ts";
import { StoreError } from "../../src/store/port/errors.ts";
import type { Link } from "./link.ts";
import { nonceOf, type Places, settingsOf, type Surroundings } from "./places.ts";
import { type Answer, Program, type Send, UnknownWorker } from "./program.ts";
import type { Machine } from "./world.ts";

/** A request that isn't answered is given up after this time. */
const REQUEST_MS = 10_000;
const RESTART_MS = 1_000;
/** The signal of a request is one of the runtime. */
const Connection = AbortController;
const VISITOR = { by: "open", name: "program", address: "" };

export type RemoteTrouble = "kill program" | "kill server" | "freeze program" | "freeze server" | "stop program";

interface Side<What> {
  readonly machine: Machine;
  readonly link: Link;
  readonly what: What;
}

export class Remote {
  readonly #in: Surroundings;
  readonly #places: Places;
  #server: Side<Gateway> | undefined;
  #program: Side<Program> | undefined;
  /** The connections that the program has open. */
  readonly #open = new Set<AbortController>();
  #isStopped = false;

  constructor(surroundings: Surroundings, places: Places) {
    this.#in = surroundings;
    this.#places = places;
  }

  start(): void {
    this.#isStopped = false;
    void this.#startServer();
    this.#startProgram();
  }

  /** The link of the program to the server. */
  get link(): Link | undefined {
    return this.#program?.link;
  }

  /** Whether both processes run. */
  get isUp(): boolean {
    return [this.#server, this.#program].every((side) => side?.machine.state === "running");
  }

  /** Ends both processes at once. */
  kill(): void {
    this.#isStopped = true;
    this.#kill(this.#program);
    this.#kill(this.#server);
  }

  trouble(how: RemoteTrouble, forMs: number): void {
    const { model, world } = this.#in;
    const side = how.endsWith("server") ? this.#server : this.#program;
    if (side === undefined || this.#program === undefined || side.machine.state !== "running") return;
    model.hit(this.#program.machine, forMs);
    if (how === "stop program") return this.#program.what.stop();
    if (how.startsWith("freeze")) {
      side.machine.freeze();
      return void world.at(world.time + forMs, undefined, () => side.machine.thaw());
    }
    this.#kill(side);
    const again = how === "kill server" ? () => void this.#startServer() : () => this.#startProgram();
    world.at(world.time + forMs, undefined, () => this.#isStopped ? undefined : again());
  }

  calm(): void {
    this.#program?.machine.thaw();
    this.#server?.machine.thaw();
  }

  /** Stops both, the program first. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#program?.what.stop();
    await this.#finished;
    await this.#server?.what[Symbol.asyncDispose]();
  }

  #finished: Promise<void> = Promise.resolve();

  async #startServer(): Promise<void> {
    const { machine, link, store } = await this.#places.open("server");
    const what = new Gateway({ store, settings: settingsOf(this.#in.plan), clock: machine.clock });
    this.#server = { machine, link, what };
  }

  #startProgram(): void {
    const { world, model, plan: { concurrency } } = this.#in;
    const number = this.#places.nextWorker();
    const { machine, link } = this.#places.process(`p.${number}`);
    machine.onCrash = () => this.trouble("kill program", RESTART_MS);
    const nonce = nonceOf(number);
    model.machines.set(nonce, machine);
    model.programs.add(machine);
    const send: Send = (...request) => this.#send({ machine, link }, ...request);
    const what = new Program(machine, model, send, { nonce, concurrency });
    this.#program = { machine, link, what };
    world.note(`${machine.name} starts`);
    this.#finished = what.run().then(() => {
      world.note(`${machine.name} has stopped`);
      if (!this.#isStopped) this.trouble("kill program", RESTART_MS);
    });
  }

  #kill(side: Side<unknown> | undefined): void {
    if (side === undefined || side.machine.state === "dead") return;
    this.#places.end(side);
    // The system closes the connections of a process. A machine that loses its power leaves them open.
    if (side !== this.#program || this.#in.world.random.chance(0.5)) return;
    for (const one of this.#open) one.abort();
  }

  /** Sends a request to the server that runs when it arrives. */
  async #send(
    { machine, link }: Pick<Side<Program>, "machine" | "link">,
    ...[path, body, { waitMs = 0, signal } = {}]: Parameters<Send>
  ): Promise<Answer> {
    const { world } = machine;
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const connection = new Connection();
    this.#open.add(connection);
    const fault = link.faultOf(path);
    const answer = (settle: () => void) => void world.at(world.time + link.travel(), machine, settle);
    const fails = () => answer(() => reject(new Error("unreachable")));
    const arrive = () => {
      const server = this.#server;
      if (fault === "lost before" || link.isCut || server === undefined || server.machine.state === "dead") {
        return fails();
      }
      world.at(world.time, server.machine, () => {
        void this.#execute(server, path, body, connection.signal).then((value) => {
          world.note(`${machine.name} ${path}${fault ? ` (${fault})` : ""}`);
          fault === "lost after" || link.isCut ? fails() : answer(() => resolve(value));
        }, (error) => answer(() => reject(error)));
      });
    };
    world.at(world.time + link.travel(), undefined, arrive);
    // A proxy between has sent it twice.
    if (fault === "late") world.at(world.time + link.lateness(), undefined, arrive);
    const done = new AbortController();
    const close = () => reject(new Error("closed"));
    signal?.addEventListener("abort", close, { once: true });
    void machine.clock.sleep(waitMs + REQUEST_MS, done.signal).then(() => reject(new Error("no answer")));
    try {
      return await promise;
    } finally {
      done.abort();
      this.#open.delete(connection);
      signal?.removeEventListener("abort", close);
      // The server learns later that it is closed, and has answered most by then.
      world.at(world.time + link.travel(), undefined, () => connection.abort());
    }
  }

  async #execute({ machine, what }: Side<Gateway>, path: string, body: object, signal: AbortSignal): Promise<Answer> {
    const route = workRoutes.find((one) => one.path === `/work/${path}`)!;
    const raw = new Request("http://server/", { method: "POST", body: JSON.stringify(body), signal });
    const services = { gateway: () => Promise.resolve(what), clock: machine.clock, maxPayloadBytes: 1_000_000 };
    const context = { get: () => VISITOR, req: { raw } };
    try {
      const { value } = await route.run(context as never, services as never);
      return structuredClone(value) as Answer;
    } catch (error) {
      if (error instanceof HttpError && error.field === "worker") throw new UnknownWorker(error.message);
      if (error instanceof HttpError && error.status === 409 && error.field === "token") return { lost: true };
      const isPassing = error instanceof StoreError || error instanceof HttpError && error.status === 503;
      if (!isPassing) machine.world.fail("a request is answered", `${path}: ${error}`);
      throw error;
    }
  }
}
