/**
 * The control loop: acts on the requests of signals and commands, one after the other. Three run concurrently: a stop, so that
 * a second TERM can make it a cold stop, and a dump works while jobs end; the reply of a dump; and a reload, whose file may be on
 * a file system that doesn't answer.
 *
 * @module
 */
import type { Log } from "../../log/log.ts";
import type { Asked, Inbox } from "./signals.ts";
import type { Tasks } from "./tasks.ts";

/** A worker, as the control loop sees it. */
export interface Controls {
  /** Stops; a second call ends running jobs at once. Resolves when it has stopped. */
  stop(): Promise<void>;
  quiet(): void | Promise<void>;
  resume(): void | Promise<void>;
  dump(): string[];
  /** The dump of the other workers of this process, for its log. */
  dumpOthers?(): readonly string[];
  reopen(): void | Promise<void>;
  reload(): void | Promise<void>;
}

/** Acts on requests until the worker has stopped. Its task is `control`. */
export async function control(inbox: Inbox, controls: Controls, services: { tasks: Tasks; log: Log }): Promise<void> {
  const { tasks, log } = services;
  const task = tasks.add("control");
  let stopped: Promise<void> | undefined;
  let reloaded = Promise.resolve();
  const failed = ({ verb, by }: Asked, error: unknown) =>
    log.error("Request failed", { asked: verb, by, error: (error as Error).message });
  for (;;) {
    task.enter(stopped ? "stopping" : "waiting");
    const asked = await Promise.race([inbox.next(), ...(stopped ? [stopped] : [])]);
    if (asked === undefined) break;
    task.enter(asked.verb);
    try {
      if (asked.verb === "dump") {
        const lines = controls.dump();
        // An outage of the store must not delay a stop.
        if (asked.reply) void asked.reply(lines.join("\n")).catch((error) => failed(asked, error));
        else for (const line of [...lines, ...controls.dumpOthers?.() ?? []]) log.warn(line);
        continue;
      }
      if (stopped && (asked.verb === "quiet" || asked.verb === "resume" || asked.verb === "reload")) {
        // systemd and `timeout` send CONT after TERM.
        if (asked.by !== "SIGCONT") log.info("Ignored during a stop", { asked: asked.verb, by: asked.by });
        continue;
      }
      // A program waits for the same stop as often as it likes: where it calls `stop`, and at the end of a block with `await using`.
      if (stopped && asked.verb === "stop" && asked.by === "program") continue;
      log.info(MEANING[asked.verb], { by: asked.by });
      if (asked.verb === "stop") stopped = controls.stop();
      // Both wait until the store has replied to the last taking. A stop must not wait for that.
      else if (asked.verb === "quiet" || asked.verb === "resume") void controls[asked.verb]();
      else if (asked.verb === "reload") {
        reloaded = reloaded.then(() => controls.reload()).catch((error) => failed(asked, error));
      } else await controls[asked.verb]();
    } catch (error) {
      failed(asked, error);
    }
  }
  tasks.remove(task);
}

const MEANING = {
  stop: "Stopping",
  quiet: "Quiet: taking no more jobs",
  resume: "Resumed: taking jobs",
  reopen: "Reopening the log",
  reload: "Reading the configuration again",
} as const;
