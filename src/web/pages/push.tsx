/**
 * The form for a new job, or for one that is enqueued again, changed.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { Context, Hono } from "hono";
import { parseDuration } from "../../job/duration.ts";
import { requireZone } from "../../job/time.ts";
import { parsePayload } from "../../job/job.ts";
import type { JobRequest } from "../../job/payload.ts";
import { pushAgain, pushJobs } from "../../operator/actions/pushes.ts";
import { actFor } from "../act.ts";
import { HttpError } from "../http/body.ts";
import { formOf, parseArgs } from "../http/forms.ts";
import { declaredSchema, knownClasses } from "../read/job.ts";
import { placePath } from "../read/job_sets.ts";
import { editableArgs, viewEntry } from "../read/job_view.ts";
import type { Services, WebEnv } from "../services.ts";
import { ClassFields, Field, type FieldErrors, fieldErrors, FormProblem, QueueField } from "./field.tsx";
import { stepsOf } from "../read/steps.ts";
import type { Step } from "../../job/step.ts";
import { lostSteps } from "../../text/steps.ts";
import { Layout } from "./layout.tsx";
import { askFirst } from "./confirm.tsx";
import { ArgsSchemaSection } from "./payload.tsx";
import { back, html, viewOf } from "./responses.tsx";
import { Hidden, link, type View } from "./view.tsx";

/** The texts in the form. */
interface PushTexts {
  readonly class: string;
  readonly args: string;
  readonly queue: string;
  readonly when: string;
  readonly retry: string;
  /** Identifies the form that was opened: sent twice, it pushes one job. */
  readonly once?: string;
}

/** The form's field for each field of a job. */
const FIELDS = { class: "class", args: "args", queue: "queue", when: "when", in: "when", at: "when", retry: "retry" };

/** The job that the new one replaces. */
interface Original {
  readonly jid: string;
  readonly ref: string;
  /** Its steps that are done: the new job runs them again. */
  readonly steps: readonly Step[];
}

/** Adds the form. */
export function pushRoutes(app: Hono<WebEnv>, services: Services): void {
  app.get("/push", (c) => {
    return show(services, c, { class: c.req.query("class") ?? "", args: "[]", queue: "", when: "", retry: "" });
  });
  app.get("/jobs/:jid/edit", async (c) => {
    const [entry] = await services.store.admin.get([c.req.query("ref") ?? ""]);
    const job = entry && viewEntry(entry, services.mask);
    if (job?.payload === undefined) throw new HttpError(404, "This job has moved or is unreadable");
    const args = editableArgs(parsePayload(entry!.payload)!.payload, services.mask);
    if (args === undefined) {
      throw new HttpError(
        422,
        "The arguments are too large to edit here: push the job with a program or with jobs push",
      );
    }
    const texts = { class: String(job.payload.class), args, queue: job.queue, when: "", retry: "" };
    const steps = await doneSteps(services, job.jid);
    return show(services, c, texts, { original: { jid: c.req.param("jid"), ref: entry!.ref, steps } });
  });
  app.post("/push", (c) => submit(services, c));
  app.post("/jobs/:jid/edit", (c) => submit(services, c));
  app.post("/jobs/:jid/push-again", async (c) => {
    const jid = c.req.param("jid");
    const question = await askFirst(services, c, {
      question: `Push job ${jid} again?`,
      explanation: "A new job with its class, arguments and options runs. The one that has ended stays on Finished.",
      label: "Push it again",
    });
    if (question !== undefined) return question;
    const pushed = await actFor(services, c.get("visitor"), pushAgain, { jid, ...pushIdOf(await formOf(c, services)) });
    return await back(services, c, { kind: "ok", text: `Pushed as ${pushed.jid}.` }, `/jobs/${pushed.jid}`);
  });
}

async function show(
  services: Services,
  c: Context<WebEnv>,
  texts: PushTexts,
  { original, errors = {} }: { readonly original?: Original | undefined; readonly errors?: FieldErrors } = {},
): Promise<Response> {
  const reading = [viewOf(services, c), knownClasses(services), declaredSchema(services, texts.class)] as const;
  const [view, classes, schema] = await Promise.all(reading);
  const isRefused = Object.keys(errors).length > 0;
  return html(services, c, <PushPage {...{ view, texts, classes, original, errors, schema }} />, isRefused ? 422 : 200);
}

async function submit(services: Services, c: Context<WebEnv>): Promise<Response> {
  const form = await formOf(c, services);
  const field = (name: string) => (form.get(name) ?? "").trim();
  const ref = form.get("ref");
  const [original] = ref === null ? [] : await services.store.admin.get([ref]);
  if (ref !== null && original === undefined) throw new HttpError(404, "This job has moved");
  try {
    const queue = field("queue");
    // Without a queue, that of the class applies; a changed job stays in its queue.
    const request = { class: field("class"), args: parseArgs(field("args")), ...(queue !== "" && { queue }) };
    const id = pushIdOf(form);
    const job = { ...request, ...id, ...whenOf(field("when")), ...retryOf(field("retry")) } as JobRequest;
    const visitor = c.get("visitor");
    const { jid, existed = false, warnings = [] } = original
      ? {
        ...await actFor(services, visitor, pushAgain, { jid: "-", ref: original.ref, ...request, ...id }),
        existed: false,
      }
      : await actFor(services, visitor, pushJobs, { document: job });
    const path = original ? placePath(original.place) : `/jobs/${jid}`;
    const text = [
      `${existed ? "Already pushed" : "Pushed"} as ${jid}.`,
      ...warnings.map((warning) => `Warning: ${warning}${warning.endsWith("?") ? "" : "."}`),
    ].join(" ");
    return await back(services, c, { kind: "ok", text }, path);
  } catch (error) {
    const texts = {
      class: field("class"),
      args: field("args"),
      queue: field("queue"),
      when: field("when"),
      retry: field("retry"),
      once: field("once"),
    };
    return await show(services, c, texts, {
      original: original && {
        jid: c.req.param("jid") ?? "-",
        ref: original.ref,
        steps: await doneSteps(services, parsePayload(original.payload)?.jid ?? ""),
      },
      errors: fieldErrors(error, FIELDS),
    });
  }
}

/** Returns the steps of a job whose results are lost with it. */
async function doneSteps(services: Services, jid: string): Promise<readonly Step[]> {
  return jid === "" ? [] : (await stepsOf(services, jid)).filter(({ state }) => state !== "waiting");
}

/**
 * Returns the `id` of the job that a form pushes: of the form that was opened, and of its fields, so that a form changed after its
 * push pushes another job.
 */
function pushIdOf(form: URLSearchParams): { readonly id?: string } {
  const once = form.get("once") ?? "";
  if (!ONCE_KEY.test(once)) return {};
  const fields = [...form].filter(([name]) => name !== "token");
  return { id: `form-${createHash("sha256").update(JSON.stringify(fields)).digest("base64url")}` };
}

const ONCE_KEY = /^[\w-]{1,64}$/;

/** Reads `in 5m`, `5m` or `at 2027-…`; an empty text stands for now. */
function whenOf(text: string): { in?: string; at?: string } {
  const when = text.replace(/^(in|at) /, "");
  if (when === "" || when === "now") return {};
  try {
    if (/^\d{4}-/.test(when)) {
      requireZone(when);
      return { at: when };
    }
    parseDuration(when);
  } catch (error) {
    throw new HttpError(422, (error as Error).message, "when");
  }
  return { in: when };
}

function retryOf(text: string): { retry?: boolean | number } {
  if (text === "") return {};
  if (text === "true" || text === "false") return { retry: text === "true" };
  if (/^\d{1,6}$/.test(text)) return { retry: Number(text) };
  throw new HttpError(422, `Invalid retries "${text.slice(0, 40)}": expected a number, true or false`, "retry");
}

function PushPage({ view, texts, classes, original, errors, schema }: {
  readonly view: View;
  readonly texts: PushTexts;
  readonly classes: readonly string[];
  readonly original: Original | undefined;
  readonly errors: FieldErrors;
  readonly schema: string | undefined;
}) {
  const path = original ? `/jobs/${encodeURIComponent(original.jid || "-")}/edit` : "/push";
  const title = original ? "Edit & re-enqueue" : "New job";
  return (
    <Layout view={view} title={title}>
      <h1>{title}</h1>
      {original && (
        <p class="note">
          This pushes a new job and deletes <span class="mono">{original.jid}</span>. Masked values stay as they are.
        </p>
      )}
      {original && original.steps.length > 0 && (
        <p class="failure">
          The new job runs all steps again, with all that they do. These results are lost: {lostSteps(original.steps)}.
        </p>
      )}
      <FormProblem errors={errors} />
      <form method="post" action={link(view, path)} class="sheet">
        <Hidden view={view} fields={{ ref: original?.ref, once: texts.once || crypto.randomUUID() }} />
        <ClassFields texts={texts} errors={errors} classes={classes} />
        <QueueField view={view} texts={texts} errors={errors} placeholder="of the class" />
        {!original && (
          <>
            <Field
              label="When"
              name="when"
              value={texts.when}
              help="Empty for now; in 30s, in 5m, in 2h; or at 2027-01-31T08:00Z."
              errors={errors}
              attributes={{ placeholder: "now" }}
            />
            <Field
              label="Max retries"
              name="retry"
              value={texts.retry}
              help="A number, true for the default, or false for none."
              errors={errors}
              attributes={{ placeholder: "default" }}
            />
          </>
        )}
        <div class="buttons">
          <button type="submit" class="primary">Push</button>
        </div>
      </form>
      <ArgsSchemaSection schema={schema} />
    </Layout>
  );
}
