/**
 * A migration to another store of the same kind, as `jobs migrate` does it: the workers have stopped, calls are lost, and the program
 * is killed and started again until it ends.
 *
 * @module
 */
import { previousRunOf } from "../../src/cron/previous_run.ts";
import { migrateStore } from "../../src/store/ops/migrate/migrate.ts";
import type { CallFault } from "./link.ts";
import type { Places, Surroundings } from "./places.ts";

/** Calls of dead processes have arrived by then, and their heartbeats have lapsed. */
const SILENCE_MS = 30_000;
/** An attempt ends within this time. */
const ATTEMPT_MS = 60_000;
/** One of the first calls of an attempt has a fault. The last attempts have none. */
const MAX_CALLS = 80;
const MAX_FAULTY_ATTEMPTS = 5;

/**
 * Migrates everything.
 *
 * @param serves whether workers use the target before everything is there
 * @param onDone called when everything is
 */
export async function migrate(
  { ground, world, model }: Surroundings,
  places: Places,
  { serves, onDone }: { readonly serves: boolean; readonly onDone: () => void },
): Promise<void> {
  const sleep = (ms: number) => new Promise<void>((resolve) => void world.at(world.time + ms, undefined, resolve));
  model.hit(undefined, 3 * SILENCE_MS);
  model.steps.signalsStay();
  model.starts.lost();
  model.hooks?.end();
  places.killAll();
  await sleep(SILENCE_MS);
  ground.moveOn!();
  if (serves) {
    model.isSplit = true;
    places.startAll();
  }
  for (let attempt = 0; !await attemptOnce(attempt); attempt++) await sleep(1_000);
  model.hit(undefined);
  // Within an event: the world waits for a real query there, and performs no other event meanwhile.
  await new Promise<void>((resolve) => {
    world.at(world.time, undefined, async () => {
      for (const one of await ground.leftBehind!()) world.fail("a migration leaves nothing", one);
      resolve();
    });
  });
  if (!serves) places.startAll();
  onDone();

  async function attemptOnce(attempt: number): Promise<boolean> {
    const { random } = world;
    const to = await places.open(`migration${attempt}`);
    const { machine, link } = to;
    const from = await ground.connectBefore!(machine, link);
    if (attempt < MAX_FAULTY_ATTEMPTS) {
      const fault: CallFault = random.pick(["lost before", "lost after", "late"]);
      link.faults.push(...Array(random.between(0, MAX_CALLS)).fill(undefined), fault);
      const killed = random.chance(0.5) ? random.next() * 500 : ATTEMPT_MS;
      world.at(world.time + killed, undefined, () => machine.kill());
    }
    const { promise, resolve } = Promise.withResolvers<boolean>();
    void migrateStore(from, to.store, { previousRunOf }).then(({ jobs }) => {
      world.note(`${machine.name} has migrated ${jobs} jobs`);
      resolve(true);
    }, (error) => {
      world.note(`${machine.name} fails: ${error.message}`);
      resolve(false);
    });
    world.at(world.time + ATTEMPT_MS, undefined, () => resolve(false));
    const isDone = await promise;
    machine.kill();
    // Its last call may be late.
    if (!isDone) await sleep(SILENCE_MS);
    return isDone;
  }
}
