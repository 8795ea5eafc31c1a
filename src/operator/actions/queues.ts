/**
 * Actions on queues and their groups: pause, resume, limit.
 *
 * @module
 */
import { formatDuration } from "../../job/duration.ts";
import { isPath } from "../../job/group.ts";
import { type GroupLimit, MAX_WEIGHT } from "../../store/port/groups.ts";
import { MAX_RUNNING, parseStarts, type StartLimit, STARTS_EXPECTED } from "../../store/port/limits.ts";
import { ALL_QUEUES, eachGroupTarget, pauseTarget } from "../../store/port/paused_queues.ts";
import { groupLimitText } from "../../text/groups.ts";
import { invalid, InvalidInput, object, optional, type TypeOf } from "../shapes/shape.ts";
import { boolean, integer, number, parsed, span, text } from "../shapes/values.ts";
import { type Action, action, type AnyAction, type Deed, Refused } from "./action.ts";
import { groupName, ownGroupName, queueName, ruled } from "./inputs.ts";

/** All queues, a queue, or a group of a queue. */
interface At {
  readonly name?: string;
  readonly group?: string;
}
interface Pause extends At {
  /** Milliseconds. */
  readonly for?: number;
}

const PAUSED = object("", {
  queue: optional(text("")),
  group: optional(text("")),
  paused: boolean(""),
});
type Paused = TypeOf<typeof PAUSED>;
const FOR = { for: optional(span("30s, 10m, 2h, or seconds; default: until it is resumed")) };
const QUEUE = { name: queueName("") };
const GROUP = { ...QUEUE, group: groupName("") };

/** @param isOne whether it acts on one queue, or a group of it */
function pausing(
  name: "pause" | "resume",
  isOne: boolean,
): Pick<Action<Pause, Paused>, "name" | "gives" | "within" | "deed" | "run"> {
  return {
    name,
    gives: PAUSED,
    ...(isOne && { within: ({ name }: Pause) => [name!] }),
    deed: ({ name = ALL_QUEUES, group, for: forMs }) => ({
      target: pauseTarget(name, group),
      ...(forMs !== undefined && { details: `for ${formatDuration(forMs)}` }),
    }),
    run: async ({ store: { admin } }, { name: queue, group, for: forMs = true }) => {
      await admin.configure(queue ?? ALL_QUEUES, { group, pause: name === "pause" && forMs });
      return {
        ...(queue !== undefined && { queue }),
        ...(group !== undefined && { group }),
        paused: name === "pause",
      };
    },
  };
}

/** Pauses all queues, also those that don't exist yet. */
export const pauseAll = action({
  ...pausing("pause", false),
  about: "Pauses all queues",
  path: "/pause",
  takes: object("", FOR),
});

/** Pauses a queue, for a time or until it is resumed. */
export const pauseQueue = action({
  ...pausing("pause", true),
  about: "Pauses a queue",
  path: "/queues/{name}/pause",
  takes: object("", { ...QUEUE, ...FOR }),
});

/** Pauses a group of a queue. */
export const pauseGroup = action({
  ...pausing("pause", true),
  about: "Pauses a group of a queue",
  path: "/queues/{name}/groups/pause",
  takes: object("", { ...GROUP, ...FOR }),
});

/** Ends the pause of all queues. */
export const resumeAll = action({
  ...pausing("resume", false),
  about: "Resumes all queues, except those paused by name",
  path: "/resume",
  takes: object("", {}),
});

/** Ends the pause of a queue. */
export const resumeQueue = action({
  ...pausing("resume", true),
  about: "Resumes a queue",
  path: "/queues/{name}/resume",
  takes: object("", QUEUE),
});

/** Ends the pause of a group. */
export const resumeGroup = action({
  ...pausing("resume", true),
  about: "Resumes a group of a queue",
  path: "/queues/{name}/groups/resume",
  takes: object("", GROUP),
});

const LIMIT = {
  ...QUEUE,
  running: optional(integer("the most jobs that run at the same time; default unlimited", [1, MAX_RUNNING])),
  starts: optional(parsed("the most jobs that start per period, such as 100/1m; default unlimited", {
    word: "text",
    expected: STARTS_EXPECTED,
    schema: { type: "string" },
    parse: (value) => typeof value === "string" ? parseStarts(value) : undefined,
  })),
};
const LIMITED = {
  queue: text(""),
  running: optional(integer("")),
  starts: optional(object("", { count: integer(""), perMs: integer("") })),
};

/** A limit as it is given. */
interface Limit {
  readonly running?: number;
  readonly starts?: StartLimit;
  readonly weight?: number;
  /** Milliseconds. */
  readonly for?: number;
}

function limitOf({ running, starts, weight, for: forMs }: Limit): GroupLimit {
  return {
    ...(running !== undefined && { running }),
    ...(starts !== undefined && { starts }),
    ...(weight !== undefined && { weight }),
    ...(forMs !== undefined && { forMs }),
  };
}

function limitDeed(target: string, limit: Limit): Deed {
  return { target, details: groupLimitText(limitOf(limit)) || "off" };
}

/** Sets the limit of a queue; absent parts are removed. */
export const limitQueue = action({
  name: "limit",
  about: "Sets the limits of a queue; absent ones are removed",
  path: "/queues/{name}/limit",
  takes: object("", LIMIT),
  gives: object("", LIMITED),
  within: ({ name }) => [name],
  deed: (given) => limitDeed(pauseTarget(given.name), given),
  run: async ({ store }, given) => {
    const limit = limitOf(given);
    await store.admin.configure(given.name, { limit });
    return { queue: given.name, ...limit };
  },
});

/** Sets the limit of a group of a queue, or without a group that of each group without a separate one. */
export const limitGroup = action({
  name: "limit",
  about: "Sets the limit of a group of a queue, or of each group; without any limit, removes it",
  path: "/queues/{name}/groups/limit",
  takes: ruled(
    object("", {
      ...LIMIT,
      group: optional(ownGroupName("default: each group without a separate limit")),
      weight: optional(integer("share in relation to other groups; only for one group", [1, MAX_WEIGHT])),
      for: optional(span("30s, 10m, 2h, 30d; default: until it is changed; only for one group")),
    }),
    checkGroupLimit,
  ),
  gives: object("", {
    ...LIMITED,
    group: optional(text("")),
    weight: optional(integer("")),
    forMs: optional(number("until the limit ends")),
  }),
  within: ({ name }) => [name],
  deed: ({ name, group, ...limit }) =>
    limitDeed(group === undefined ? eachGroupTarget(name) : pauseTarget(name, group), limit),
  run: async ({ store }, given) => {
    const { name: queue, group } = given;
    const limit = limitOf(given);
    await store.admin.configure(queue, { ...(group === undefined ? { eachGroup: true } : { group }), limit });
    return { queue, ...(group !== undefined && { group }), ...limit };
  },
});

function checkGroupLimit(given: Limit & { readonly group?: string }): void {
  const { group, weight, for: forMs } = given;
  const { forMs: _, ...parts } = limitOf(given);
  const limits = Object.keys(parts).length > 0;
  if (group === undefined && (weight ?? forMs) !== undefined) {
    throw new InvalidInput("A weight or an end belongs to one group", weight === undefined ? "for" : "weight");
  }
  if (group !== undefined && isPath(group) && limits) throw invalid(group, "a name, not a path", "group");
  if (forMs !== undefined && !limits) {
    throw new InvalidInput('"for" needs a limit that ends: expected "running", "starts" or "weight" with it', "for");
  }
}

/** Removes an empty queue from the list. Its jobs are never deleted: the next one that is pushed lists it again. */
export const forgetQueue = action({
  name: "forget",
  about: "Removes a queue from the list if it has no jobs, limits or pause, and no worker processes it",
  path: "/queues/{name}/forget",
  takes: object("", QUEUE),
  gives: object("", { queue: text(""), forgotten: boolean("") }),
  within: ({ name }) => [name],
  deed: ({ name }) => ({ target: pauseTarget(name) }),
  run: async ({ store }, { name: queue }) => {
    const isProcessed = (await store.workers.list()).some(({ alive, queues }) => alive && queues.includes(queue));
    if (isProcessed) throw new Refused("conflict", `Queue "${queue}" stays in the list: a worker processes it`);
    if (await store.admin.configure(queue, { forget: true })) return { queue, forgotten: true };
    throw new Refused("conflict", `Queue "${queue}" stays in the list: it has jobs, a limit or a pause, or is unknown`);
  },
});

/** The actions of this file. */
export const queueActions: readonly AnyAction[] = [
  pauseQueue,
  resumeQueue,
  limitQueue,
  pauseAll,
  resumeAll,
  limitGroup,
  pauseGroup,
  resumeGroup,
  forgetQueue,
];
