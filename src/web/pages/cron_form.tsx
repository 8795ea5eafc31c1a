/**
 * The form for a new cron entry, or for one that was added at run time. "Check" shows the schedule in plain words, and the
 * next runs.
 *
 * @module
 */
import type { Context, Hono } from "hono";
import type { CronDefinition } from "../../cron/definition.ts";
import type { CronEntryInput } from "../../cron/entry.ts";
import { entryInput } from "../../cron/entry_input.ts";
import { HttpError } from "../http/body.ts";
import type { AnyAction } from "../../operator/actions/action.ts";
import {
  addCron,
  type CronPreview,
  definitionOf,
  editCron,
  InvalidCronEntry,
  previewCron,
} from "../../operator/actions/cron.ts";
import { actFor } from "../act.ts";
import type { Services, WebEnv } from "../services.ts";
import { formOf, parseArgs } from "../http/forms.ts";
import { knownClasses } from "../read/job.ts";
import { document, text } from "../read/job_view.ts";
import { ClassFields, Field, type FieldErrors, fieldErrors, FormProblem, QueueField } from "./field.tsx";
import { Hidden, link, type View } from "./view.tsx";
import { back, html, viewOf } from "./responses.tsx";
import { Layout } from "./layout.tsx";
import { RunTimes } from "./run_times.tsx";

/** The texts in the form. */
export interface CronFields {
  readonly name: string;
  readonly rule: string;
  readonly every: string;
  readonly timezone: string;
  readonly class: string;
  readonly args: string;
  readonly queue: string;
  readonly tags: string;
  readonly start: string;
  readonly end: string;
  readonly count: string;
  readonly spread: string;
}

const TIMES = ["rule", "every", "timezone", "start", "end", "count", "spread"] as const;
const FIELDS = ["name", ...TIMES, "class", "args", "queue", "tags"] as const;
const EMPTY = Object.fromEntries(FIELDS.map((name) => [name, name === "args" ? "[]" : ""])) as unknown as CronFields;

/** Adds the forms. */
export function cronFormRoutes(app: Hono<WebEnv>, services: Services): void {
  app.get("/cron-new", async (c) => {
    const [view, classes] = await Promise.all([viewOf(services, c), knownClasses(services)]);
    return html(services, c, <CronFormPage view={view} fields={EMPTY} classes={classes} />);
  });
  app.post("/cron-new", (c) => save(services, c, undefined));
  app.get("/cron/:name/edit", async (c) => {
    const definition = await definitionOf(services.crontab, c.req.param("name"));
    const [view, classes] = await Promise.all([viewOf(services, c), knownClasses(services)]);
    const fields = fieldsOf(definition, services);
    return html(services, c, <CronFormPage view={view} fields={fields} classes={classes} editing={definition.name} />);
  });
  app.post("/cron/:name/edit", (c) => save(services, c, c.req.param("name")));
}

function fieldsOf(definition: CronDefinition, services: Services): CronFields {
  if (!services.mask.showsWhole(definition.args)) {
    throw new HttpError(422, "The arguments are too large to be edited here; use jobs cron edit");
  }
  const input = services.mask.value(entryInput(definition)) as CronEntryInput;
  const { name, args, queue, tags = [] } = input;
  const times = Object.fromEntries(TIMES.map((field) => [field, text(input[field])])) as Pick<
    CronFields,
    typeof TIMES[number]
  >;
  return { name, ...times, class: definition.class, args: document(args), queue: queue ?? "", tags: tags.join(", ") };
}

/** Saves the entry. Shows the form again after an error, or to check the entry. */
async function save(services: Services, c: Context<WebEnv>, editing: string | undefined): Promise<Response> {
  const form = await formOf(c, services);
  const fields = Object.fromEntries(
    FIELDS.map((name) => [name, (form.get(name) ?? "").trim()]),
  ) as unknown as CronFields;
  let errors: FieldErrors = {};
  let preview: CronPreview | undefined;
  try {
    const input = inputOf(editing === undefined ? fields : { ...fields, name: editing });
    preview = previewCron(services.clock, input);
    if (form.get("do") !== "check") {
      const visitor = c.get("visitor");
      await actFor(services, visitor, editing === undefined ? addCron : editCron as AnyAction, input);
      const flash = { kind: "ok", text: `Cron entry ${input.name} runs ${preview.words}.` } as const;
      return await back(services, c, flash, `/cron/${encodeURIComponent(input.name)}`);
    }
  } catch (error) {
    errors = cronErrors(error);
  }
  const [view, classes] = await Promise.all([viewOf(services, c), knownClasses(services)]);
  const shown = { fields, classes, editing, errors, preview };
  return html(services, c, <CronFormPage view={view} {...shown} />, Object.keys(errors).length === 0 ? 200 : 422);
}

/** Returns the errors of an entry by field. */
function cronErrors(error: unknown): FieldErrors {
  if (!(error instanceof InvalidCronEntry)) return fieldErrors(error, { args: "args" });
  const errors: Record<string, string> = {};
  for (const { field = "", message } of error.problems) {
    const name = (FIELDS as readonly string[]).includes(field) ? field : "";
    // The form names its fields differently from a configuration file.
    const text = message.replace(/^Cron entry(?: "(?:[^"\\]|\\.)*")?: /, "")
      .replace(/^"\w+" is undefined; /, "Missing: ")
      .replace('both "rule" and "every"', "Both a cron expression and an interval")
      .replace('neither "rule" nor "every"', "Neither a cron expression nor an interval");
    errors[name] = errors[name] === undefined ? text : `${errors[name]}\n${text}`;
  }
  return errors;
}

/** Returns the entry. An empty text removes the field. */
function inputOf({ args, tags, count, ...fields }: CronFields): CronEntryInput {
  const given = Object.entries(fields).map(([name, value]) => [name, value === "" ? undefined : value]);
  const list = tags.split(/[\s,]+/).filter((tag) => tag !== "");
  return {
    ...Object.fromEntries(given),
    args: parseArgs(args),
    tags: list.length > 0 ? list : undefined,
    count: count === "" ? undefined : /^\d+$/.test(count) ? Number(count) : count,
  };
}

interface TextField {
  readonly name: keyof CronFields;
  readonly label: string;
  readonly help: string;
  readonly attributes: Readonly<Record<string, string>>;
}

const RULE_FIELDS: readonly TextField[] = [
  {
    name: "rule",
    label: "Cron expression",
    help: "Minute, hour, day, month and weekday; optionally seconds first. Or a name such as @daily.",
    attributes: { placeholder: "30 3 * * *", class: "mono" },
  },
  {
    name: "timezone",
    label: "Time zone",
    help: "Of the cron expression. Default UTC.",
    attributes: { placeholder: "Europe/London" },
  },
  {
    name: "every",
    label: "Interval",
    help: "Instead of a cron expression: 30s, 5m, 2h, 1d.",
    attributes: { placeholder: "5m" },
  },
];

const MORE_FIELDS: readonly TextField[] = [
  {
    name: "tags",
    label: "Tags",
    help: "Of its jobs, too. Separated by commas or blanks.",
    attributes: { placeholder: "reports" },
  },
  {
    name: "start",
    label: "Start",
    help: "No run before this time.",
    attributes: { placeholder: "2026-12-01T06:00:00Z" },
  },
  { name: "end", label: "End", help: "No run after this time.", attributes: { placeholder: "2026-12-31T18:00:00Z" } },
  {
    name: "count",
    label: "Number of runs",
    help: "From the start, instead of an end.",
    attributes: { inputmode: "numeric" },
  },
  {
    name: "spread",
    label: "Spread",
    help: "Shifts the runs by a time up to this, which follows from the name.",
    attributes: { placeholder: "10m" },
  },
];

function TextFields({ of, fields, errors }: {
  readonly of: readonly TextField[];
  readonly fields: CronFields;
  readonly errors: FieldErrors;
}) {
  return <>{of.map((field) => <Field {...field} value={fields[field.name]} errors={errors} />)}</>;
}

function CronFormPage({ view, fields, classes, editing, errors = {}, preview }: {
  readonly view: View;
  readonly fields: CronFields;
  readonly classes: readonly string[];
  /** The name of the entry to change; undefined for a new one. */
  readonly editing?: string | undefined;
  readonly errors?: FieldErrors;
  readonly preview?: CronPreview | undefined;
}) {
  const title = editing === undefined ? "New cron entry" : `Change ${editing}`;
  const path = editing === undefined ? "/cron-new" : `/cron/${encodeURIComponent(editing)}/edit`;
  return (
    <Layout view={view} title={title}>
      <h1>{title}</h1>
      <FormProblem errors={errors} />
      {preview !== undefined && <Preview view={view} preview={preview} />}
      <form method="post" action={link(view, path)} class="sheet">
        <Hidden view={view} />
        {editing === undefined && (
          <Field
            label="Name"
            name="name"
            value={fields.name}
            errors={errors}
            attributes={{ required: true, maxlength: 200 }}
          />
        )}
        <TextFields of={RULE_FIELDS} fields={fields} errors={errors} />
        <ClassFields texts={fields} errors={errors} classes={classes} />
        <QueueField view={view} texts={fields} errors={errors} placeholder="default" />
        <TextFields of={MORE_FIELDS} fields={fields} errors={errors} />
        <div class="buttons">
          <button type="submit" class="primary">{editing === undefined ? "Add" : "Save"}</button>
          <button type="submit" name="do" value="check">Check</button>
        </div>
      </form>
    </Layout>
  );
}

function Preview({ view, preview: { words, times } }: { readonly view: View; readonly preview: CronPreview }) {
  return (
    <section>
      <h2>Runs {words}</h2>
      <RunTimes
        view={view}
        times={times}
        text={(at) => `${new Date(at).toISOString().slice(0, 19).replace("T", " ")} UTC`}
      />
    </section>
  );
}
