/**
 * The handlers of a worker, each in its execution mode, and the client that its jobs push with.
 *
 * @module
 */
import { Client } from "../client/client.ts";
import type { Clock } from "../clock.ts";
import {
  chooseExecutionModes,
  type ChosenMode,
  isolatedModules,
  ModeError,
  type OutsideClass,
} from "../handlers/execution_modes.ts";
import { Endpoints } from "../handlers/http/endpoints.ts";
import { HorsePool } from "../handlers/isolation/pool.ts";
import { programHandler } from "../handlers/isolation/program.ts";
import { programProblem } from "../handlers/isolation/program_user.ts";
import { ProgramSteps } from "../handlers/isolation/program_steps.ts";
import type { Registry } from "../handlers/registry.ts";
import type { Program } from "../job/program.ts";
import { logger } from "../log/log.ts";
import type { LauncherHooks, LauncherOptions } from "./launcher_options.ts";
import { declaredWithin } from "./stats/class_sync.ts";

export interface Execution extends ChosenMode {
  /** Undefined if no class is isolated. */
  readonly horses: HorsePool | undefined;
  readonly endpoints: Endpoints;
}

/**
 * Chooses the execution mode of each class.
 *
 * @param recheck aborts a job that this worker has lost while it waited for its process
 * @throws {ModeError} if a class has two handlers, one that horses cannot load, or a program or an endpoint that can't run here
 */
export function executionOf(
  options: LauncherOptions,
  { clock, workerId }: Pick<LauncherHooks, "clock" | "workerId">,
  recheck: (signal: AbortSignal) => Promise<void>,
): Execution {
  const { isolate, programs, http, webhooks = [], reportUrl, killAfterMs, maxResultBytes, concurrency } =
    options.settings;
  const programSteps = new ProgramSteps({ clock, log: logger("program-steps", clock) });
  const modules = isolatedModules(options.registry, isolate);
  const horses = modules.length > 0 ? newHorses(options, modules, { clock, recheck }) : undefined;
  const endpoints = new Endpoints({
    endpoints: [...http, ...webhooks.map(({ endpoint }) => endpoint)],
    ...{ clock, maxResultBytes, concurrency },
    log: logger("http", clock),
    ...(reportUrl && options.sessionKey && {
      reports: { url: `${reportUrl}/api/v1/report`, worker: workerId, key: options.sessionKey },
    }),
    hasOthers: options.registry.classes().length + programs.length > 0,
  });
  const asProgram = (program: Program): OutsideClass => {
    const { class: name, exec, env: _env, cwd: _cwd, user: _user, ...options } = program;
    const problem = programProblem(program);
    if (problem !== undefined) throw new ModeError(problem);
    const perform = programHandler(program, { clock, killAfterMs, maxResultBytes, steps: programSteps });
    return { class: name, perform, options, source: `exec ${exec[0]}` };
  };
  const modes = chooseExecutionModes(options.registry, {
    isolate,
    inHorse: horses && ((job) => horses.perform(job)),
    outside: [...programs.map(asProgram), ...endpoints.classes],
  });
  return { ...modes, horses, endpoints };
}

export function newClient(
  { store, settings, pushMiddleware, batchMiddleware }: LauncherOptions,
  registry: Registry,
  clock: Clock,
): Client {
  return new Client({
    store,
    clock,
    maxPayloadBytes: settings.maxPayloadBytes,
    sidekiqWire: settings.sidekiqWire,
    classOptions: (name) => registry.get(name)?.options,
    onUnregistered: (name, meant) =>
      logger("client", clock).warn(
        "Pushed a class that isn't registered: its queue, retries and lock are unknown here",
        { class: name, meant },
      ),
    ...(pushMiddleware && { middleware: pushMiddleware }),
    ...(batchMiddleware && { batchMiddleware }),
  });
}

function newHorses(
  { store, settings, registry, horseProcesses }: LauncherOptions,
  modules: readonly string[],
  { clock, recheck }: { readonly clock: Clock; readonly recheck: (signal: AbortSignal) => Promise<void> },
): HorsePool {
  const { jobs, steps, batches, flows, webhooks } = store;
  return new HorsePool({
    modules,
    store: { jobs, steps, batches, flows, webhooks, classes: { read: declaredWithin(registry, store) } },
    killAfterMs: settings.killAfterMs,
    maxMemoryBytes: settings.maxMemoryBytes,
    maxJobs: settings.maxJobsPerIsolatedProcess,
    processes: horseProcesses,
    recheck,
    clock,
    log: logger("horses", clock),
  });
}
