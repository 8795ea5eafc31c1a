/**
 * The admin part of the port, put together from its verbs.
 *
 * @module
 */
import { type AdminStore, limitedGroup } from "../admin/admin.ts";
import { SCRIPTS } from "./client/scripts.ts";
import type { Context } from "./context.ts";
import { readStats } from "./counts.ts";
import { entryOf } from "./entries.ts";
import { limitGroup, readGroups } from "./groups.ts";
import { health } from "./health.ts";
import { WAKE_CHANNEL } from "./keys.ts";
import { locateText } from "./locate.ts";
import { readPage } from "./pages.ts";

/** Returns the part. */
export function adminPart(context: Context): AdminStore {
  const { client, offset } = context;
  // A user without the permission to publish causes no error: waiting workers poll within a second.
  const wake = (topic: string) => client.call(["PUBLISH", WAKE_CHANNEL, topic]).catch(() => {});
  return {
    stats: (request) => readStats(context, request),
    health: () => health(context),
    page: (place, request) => readPage(client, place, request),
    get: (refs, { before } = {}) =>
      Promise.all(refs.map(async (ref) => {
        const found = await locateText(client, ref);
        const isCounted = before !== undefined && found?.place.in === "queue";
        return found && { ...entryOf(found), ...(isCounted && { before: Math.min(found.position, before) }) };
      })),
    async configure(queue, settings) {
      if ("forget" in settings) return await client.run(SCRIPTS.forgetQueue, { now: offset(), name: queue }) === 1;
      if ("pause" in settings) {
        const { group, pause } = settings;
        const isResumed = pause === false || pause !== true && pause <= 0;
        const time = isResumed ? "0" : pause === true ? "" : `${Math.max(1, Math.round(pause))}`;
        if (group !== undefined) await client.run(SCRIPTS.pauseGroup, { now: offset(), queue, group, ms: time });
        else await client.run(SCRIPTS.pauseQueue, { now: offset(), queue, ms: time });
        if (group === undefined && isResumed) await wake("resume");
        return true;
      }
      const group = limitedGroup(settings);
      if (group !== undefined) {
        await limitGroup(context, queue, group, settings.limit);
        await wake("groups");
      } else {
        const { running, starts } = settings.limit;
        const limit = { running: running ?? 0, starts: starts?.count ?? 0, per: starts?.perMs ?? 0 };
        await client.run(SCRIPTS.limitQueue, { queue, ...limit });
        await wake("limit");
      }
      return true;
    },
    groups: (queue, request) => readGroups(context, queue, request),
  };
}
