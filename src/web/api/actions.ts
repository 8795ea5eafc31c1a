/**
 * The API's routes of actions, from their descriptions.
 *
 * @module
 */
import type { Context } from "hono";
import type { AnyAction } from "../../operator/actions/action.ts";
import { ACTIONS } from "../../operator/actions/table.ts";
import { object, schemaOf } from "../../operator/shapes/shape.ts";
import { actFor } from "../act.ts";
import type { Services, WebEnv } from "../services.ts";
import { allowFields, objectOf } from "./json.ts";
import type { ApiAnswer, ApiRoute } from "./routes.ts";

/** The routes. */
export const actionRoutes: readonly ApiRoute[] = ACTIONS.map((action) => {
  const { path, about, access = "act", takes, gives } = action;
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  const inBody = Object.fromEntries(Object.entries(takes.fields ?? {}).filter(([name]) => !inPath.includes(name)));
  return {
    method: "POST",
    path,
    access,
    about,
    ...(Object.keys(inBody).length > 0 && { body: schemaOf(object("", inBody)) }),
    answer: schemaOf(gives),
    run: (c, services) => run(c, services, { action, inPath, names: Object.keys(inBody) }),
  };
});

async function run(
  c: Context<WebEnv>,
  services: Services,
  { action, inPath, names }: {
    readonly action: AnyAction;
    readonly inPath: readonly string[];
    readonly names: readonly string[];
  },
): Promise<ApiAnswer> {
  // Without fields, the routes refuse any.
  const body = names.length === 0 ? {} : await objectOf(c, services);
  allowFields(body, names);
  const named = inPath.map((name) => [name, c.req.param(name)]);
  const out = await actFor(services, c.get("visitor"), action, { ...body, ...Object.fromEntries(named) });
  return { value: out, status: action.status?.(out) ?? 200 };
}
