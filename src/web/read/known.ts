/**
 * Whether the store or a worker knows a queue or a class: pages of others are 404.
 *
 * @module
 */
import type { Stats } from "../../store/admin/admin.ts";
import { HttpError } from "../http/body.ts";
import type { Services } from "../services.ts";
import { knownClasses } from "./job.ts";
import { searchPlaces } from "./search.ts";

/** @throws {HttpError} if no job was pushed to the queue, it has no limit, and no worker fetches from it */
export async function requireQueue({ store }: Services, { queues }: Stats, queue: string): Promise<void> {
  if (queues.some(({ name }) => name === queue)) return;
  if ((await store.workers.list()).some((worker) => worker.queues.includes(queue))) return;
  throw new HttpError(404, `Queue "${queue}" not found: it has no jobs and no limit, and no worker fetches from it`);
}

/** @throws {HttpError} if no worker has registered the class, and no job of it was found */
export async function requireClass(services: Services, name: string): Promise<void> {
  if ((await services.measures.read("72h")).some((measured) => measured.class === name)) return;
  if ((await knownClasses(services)).includes(name)) return;
  // Behind many others, or in more places than can be searched.
  const { found } = await searchPlaces(services, { class: name });
  if (found.some(({ rows, more }) => rows.length > 0 || more)) return;
  throw new HttpError(
    404,
    `Class "${name.slice(0, 80)}" not found: no worker has registered it, and no job of it was found`,
  );
}
