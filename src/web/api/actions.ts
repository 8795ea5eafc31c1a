/**
 * The API's routes of actions, from their descriptions.
 *
 * @module
 */
import type { Context } from "hono";
import type { AnyAction } from "../../operator/actions/action.ts";
import { ACTIONS } from "../../operator/actions/table.ts";
import { type JsonSchema, schemaOf } from "../../operator/shapes/shape.ts";
import { actFor } from "../act.ts";
import type { Services, WebEnv } from "../services.ts";
import { allowFields, objectOf, objectOrListOf, objectTextOf } from "./json.ts";
import type { ApiAnswer, ApiRoute } from "./route.ts";

/** The routes. */
export const actionRoutes: readonly ApiRoute[] = ACTIONS.map((action) => {
  const { path, about, access = "act", takes, gives } = action;
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  const names = takes.fields && Object.keys(takes.fields).filter((name) => !inPath.includes(name));
  return {
    method: "POST",
    path,
    access,
    about,
    ...(names?.length !== 0 && { body: withoutFields(schemaOf(takes), inPath) }),
    answer: schemaOf(gives),
    run: (c, services) => run(c, services, { action, inPath, names }),
  };
});

/** Returns the schema of an object without the fields that the address has. */
function withoutFields(schema: JsonSchema, names: readonly string[]): JsonSchema {
  if (names.length === 0) return schema;
  const { required, properties } = schema as { required?: readonly string[]; properties: JsonSchema };
  const left = required?.filter((name) => !names.includes(name)) ?? [];
  const { required: _, ...rest } = schema;
  return {
    ...rest,
    ...(left.length > 0 && { required: left }),
    properties: Object.fromEntries(Object.entries(properties).filter(([name]) => !names.includes(name))),
  };
}

async function run(
  c: Context<WebEnv>,
  services: Services,
  { action, inPath, names }: {
    readonly action: AnyAction;
    readonly inPath: readonly string[];
    /** The fields of the body; undefined: any. */
    readonly names: readonly string[] | undefined;
  },
): Promise<ApiAnswer> {
  // Without fields, the routes refuse any.
  const body = names?.length === 0
    ? {}
    : "body" in action.takes
    ? { document: await (action.takes.body === "text" ? objectTextOf : objectOrListOf)(c, services) }
    : await objectOf(c, services);
  // The address names the object of the action; the body doesn't name another.
  if (names !== undefined) allowFields(body, names);
  const key = action.key === undefined ? undefined : c.req.header("idempotency-key");
  const named = inPath.map((name) => [name, c.req.param(name)]);
  const raw = { ...(key !== undefined && { [action.key!]: key }), ...body, ...Object.fromEntries(named) };
  const out = await actFor(services, c.get("visitor"), action, raw);
  const continues = action.label?.(action.takes.read(raw)) !== undefined && out.changed === undefined;
  return { value: out, status: continues ? 202 : action.status?.(out) ?? 200 };
}
