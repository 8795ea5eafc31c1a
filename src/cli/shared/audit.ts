/**
 * The audit log of actions at the command line, which the dashboard shows.
 *
 * @module
 */
import type { Deed } from "../../operator/actions/action.ts";
import type { Store } from "../../store/admin/store.ts";
import { printError } from "../terminal/output.ts";
import { authorBy, record } from "./act.ts";

/** Records an action. TODO: moves to `operator/actions`. */
export async function recordAudit(
  store: Pick<Store, "logs">,
  { action, ...deed }: Deed & { readonly action: string },
  by = "command line",
  report = (why: string): void => printError(`jobs: ${why}`),
): Promise<void> {
  await record(store, { ...authorBy(by), action, ...deed }, report);
}
