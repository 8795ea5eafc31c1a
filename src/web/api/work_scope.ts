/**
 * The bounds of workers whose token has limits: the classes that they register, the queues that they take from, the jobs that they push,
 * and the signals that their jobs wait for.
 *
 * @module
 */
import type { JobRequest } from "../../client/client.ts";
import type { HandlerOptions } from "../../handlers/handler.ts";
import { Refused } from "../../operator/actions/action.ts";
import { checkQueueScope, checkWait, type Scope } from "../../operator/actions/scope.ts";
import type { TypeOf } from "../../operator/shapes/shape.ts";
import type { UseRequest } from "../../remote/remote_step.ts";
import { foreignClasses, queueOfClass } from "../../store/ops/declared_classes.ts";
import type { Visitor } from "../auth/gate.ts";
import { pushBounds } from "../auth/push_scope.ts";
import type { Services } from "../services.ts";
import type * as shapes from "./work_shapes.ts";

/** Returns a request for a step, within the role: what it pushes, the signal that it waits for, and the results that it reads. */
export async function permitted(
  given: Pick<TypeOf<typeof shapes.stepShape>, "kind" | "name" | "options" | "class" | "args">,
  { services, visitor }: { readonly services: Services; readonly visitor: Visitor },
): Promise<UseRequest> {
  if (given.kind === "wait" && typeof given.options?.["key"] === "string") checkWait(visitor, given.options["key"]);
  const { scope } = visitor;
  if (given.kind === "results" && (scope?.classes ?? scope?.queues) !== undefined) {
    return { ...given, beforeOnly: true } as UseRequest;
  }
  if (given.kind !== "child" && given.kind !== "member") return given as UseRequest;
  const { class: name = "", args = [], options: asked = {} } = given;
  const request = { ...asked, class: name, args } as JobRequest;
  const within = await pushBounds(services, visitor, [request]) ?? ((request) => request);
  const { class: _, args: __, ...options } = within(request);
  return { ...given, class: name, args, options } as UseRequest;
}

/**
 * Returns the queues to take from; none: `default`, and those of the classes. A role that is limited to queues takes from `default` only if
 * that is one of them, and registers no class that would be pushed to another one.
 *
 * @throws {Refused} if a class or a queue is outside of the scope of the role
 */
export function queuesWithin(
  { scope }: Visitor,
  classes: Readonly<Record<string, HandlerOptions>>,
  queues: readonly string[] = [],
): readonly string[] {
  const other = Object.keys(classes).find((name) => scope?.classes?.includes(name) === false);
  if (other !== undefined) throw outsideClass(scope!, other);
  // Its jobs would be performed as another class, or shown as one.
  const others = Object.values(classes).flatMap(({ wrapped, display_class: shown }) => [wrapped, shown]);
  const alien = others.find((name) => name !== undefined && scope?.classes?.includes(String(name)) === false);
  if (alien !== undefined) throw outsideClass(scope!, String(alien));
  if (scope?.queues === undefined) return queues;
  for (const queue of queues) checkQueueScope(scope, queue, "queues");
  const isNamed = queues.length > 0;
  const options = Object.values(classes);
  // A push of a class without a queue goes to `default`, with the options of the class. A role that lists the class may set those.
  const unnamed = isNamed && scope.classes !== undefined ? [] : ["default"];
  const ofClasses = options.flatMap(({ queue }) => queue === undefined ? unnamed : [String(queue)]);
  // Failed jobs of a class go to its queue for retries.
  const retried = options.flatMap(({ retry_queue: queue }) => queue === undefined ? [] : [String(queue)]);
  for (const queue of [...ofClasses, ...retried]) checkQueueScope(scope, queue, "classes");
  return isNamed ? queues : [...new Set(ofClasses)];
}

/**
 * Checks the queues that a role limited to classes chooses for its classes. The first choice for a class is free; after it, only existing
 * queues are: otherwise each registration and push could make a new one.
 *
 * @throws {Refused}
 */
export async function checkNewQueues(
  { store, queues }: Services,
  { scope }: Visitor,
  classes: Readonly<Record<string, HandlerOptions>>,
): Promise<void> {
  if (scope?.classes === undefined || scope.queues !== undefined) return;
  const chosen = Object.entries(classes).flatMap(([name, { queue, retry_queue: retried }]) =>
    [queue, retried].filter((one) => one !== undefined).map((one) => ({ name, queue: String(one) }))
  );
  if (chosen.length === 0) return;
  const known = await queues.of(scope.classes, chosen.map((one) => one.queue));
  const declared = new Set((await store.classes.read(chosen.map(({ name }) => name))).map(({ name }) => name));
  const made = chosen.find(({ name, queue }) => declared.has(name) && !known.has(queue));
  if (made === undefined) return;
  const [name, queue] = [made.name.slice(0, 80), made.queue.slice(0, 80)];
  throw new Refused(
    "forbidden",
    `Queue "${queue}" of class "${name}" doesn't exist; expected an existing queue, or a role that lists it: ` +
      `work(class=${name},queue=${queue})`,
    { field: "classes" },
  );
}

function outsideClass({ classes }: Scope, name: string): Refused {
  const message = `Class "${name.slice(0, 80)}" is outside of your role; expected ${classes!.join(", ")}`;
  return new Refused("forbidden", message, { field: "classes" });
}

/**
 * Checks the classes of a role that is limited to queues, and not to classes: their options hold for each push of the class, whatever
 * its queue.
 *
 * @throws {Refused} if others have registered a class for another queue
 */
export async function checkOwnClasses(
  { store }: Services,
  queues: readonly string[],
  names: readonly string[],
): Promise<void> {
  const foreign = foreignClasses(await store.classes.read(names), queues)[0];
  if (foreign === undefined) return;
  const name = foreign.name.slice(0, 80);
  throw new Refused(
    "forbidden",
    `Class "${name}" is registered for queue "${queueOfClass(foreign.options)}", which is outside of your role; ` +
      `expected ${queues.join(", ")}, or a role that lists the class: work(class=${name},queue=${queues.join("|")})`,
    { field: "classes" },
  );
}
