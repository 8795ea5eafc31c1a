/**
 * Questions before an action.
 *
 * @module
 */
import type { Context } from "hono";
import { HttpError } from "../http/body.ts";
import { formOf } from "../http/forms.ts";
import { localPath } from "../read/paging.ts";
import type { Services, WebEnv } from "../services.ts";
import { Field } from "./field.tsx";
import { QueueNames } from "./job_table.tsx";
import { Layout } from "./layout.tsx";
import { html, viewOf } from "./responses.tsx";
import { Hidden, link, type View } from "./view.tsx";

/** A question before an action that cannot be undone, repeats work or concerns many jobs. */
export interface Question {
  readonly question: string;
  /** The consequences, if the question doesn't name them. */
  readonly explanation?: string | undefined;
  /** The label of the action's button, such as "Delete 21 jobs". */
  readonly label: string;
  /** Epoch milliseconds: what {@linkcode askedAt} returns after the answer. */
  readonly asked?: number | undefined;
}

/** Fields that the question's own form has: they aren't repeated. */
const OWN_FIELDS: ReadonlySet<string> = new Set(["token", "confirmed", "back", "asked"]);

/**
 * Returns when the visitor was asked, in epoch milliseconds: ages of jobs are relative to it. Undefined for a form without a
 * question. It needs no signature: a visitor may choose any age.
 *
 * @throws {HttpError} if the form has another value
 */
export function askedAt(form: URLSearchParams): number | undefined {
  const asked = form.get("asked");
  if (asked === null) return undefined;
  if (/^\d{13}$/.test(asked)) return Number(asked);
  throw new HttpError(
    422,
    `Invalid field "asked": "${asked.slice(0, 20)}"; expected the time of the question in epoch milliseconds`,
    "asked",
  );
}

/**
 * Returns the page that asks before the action of a form; undefined once the visitor has confirmed it. Its button sends
 * the same form again, to the same path.
 *
 * @param question called only to ask, so that counting costs nothing afterwards
 */
export async function askFirst(
  services: Services,
  c: Context<WebEnv>,
  question: Question | (() => Promise<Question>),
): Promise<Response | undefined> {
  const form = await formOf(c, services);
  if (form.get("confirmed") === "yes") return undefined;
  const view = await viewOf(services, c);
  const asked = typeof question === "function" ? await question() : question;
  const fields = [...form].filter(([name]) => !OWN_FIELDS.has(name));
  const back = localPath(form.get("back") ?? undefined);
  return html(services, c, <ConfirmPage {...{ view, fields, back }} {...asked} />);
}

/** Back has the focus. */
function ConfirmPage({ view, question, explanation, label, asked, fields, back }: Question & {
  readonly view: View;
  /** The fields of the form that is confirmed. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly back: string;
}) {
  return (
    <Layout view={view} title="Confirm">
      <div class="confirm">
        <h1>{question}</h1>
        {explanation !== undefined && <p class="note">{explanation}</p>}
        <form method="post" action={link(view, view.here)}>
          <Hidden view={view} fields={{ back, confirmed: "yes", asked: asked?.toString() }} />
          {fields.map(([name, value]) => <input type="hidden" name={name} value={value} />)}
          <div class="buttons">
            <a class="button" href={link(view, back)} autofocus>Back</a>
            <button type="submit" class="danger primary">{label}</button>
          </div>
        </form>
      </div>
    </Layout>
  );
}

/** Asks for the queue to move jobs to. */
export function MovePage({ view, title, fields, refs, queue, problem }: {
  readonly view: View;
  readonly title: string;
  readonly fields: Readonly<Record<string, string | undefined>>;
  readonly refs: readonly string[];
  /** The name that was typed. */
  readonly queue: string;
  readonly problem: string;
}) {
  return (
    <Layout view={view} title={title}>
      <h1>{title}</h1>
      <form method="post" action={link(view, "/jobs/act")} class="sheet">
        <Hidden view={view} fields={fields} />
        {refs.map((ref) => <input type="hidden" name="ref" value={ref} />)}
        <Field
          label="To queue"
          name="queue_to"
          value={queue}
          help="Letters, digits and _ : . -"
          errors={{ queue_to: problem }}
          attributes={{ required: true, list: "queue-names" }}
        />
        <QueueNames view={view} />
        <div class="buttons">
          <a class="button" href={link(view, fields["back"] ?? "/")}>Back</a>
          <button type="submit" class="primary">Move</button>
        </div>
      </form>
    </Layout>
  );
}

/** Asks for the data of a signal. */
export function SignalPage({ view, fields, data, problem, example }: {
  readonly view: View;
  readonly fields: { readonly key: string; readonly back: string } & Readonly<Record<string, string>>;
  /** The text that was typed. */
  readonly data: string;
  /** Why the data can't be sent; undefined before the first attempt. */
  readonly problem: string | undefined;
  /** JSON text. */
  readonly example: string;
}) {
  const title = `Signal ${fields.key}`;
  return (
    <Layout view={view} title={title}>
      <h1>{title}</h1>
      <form method="post" action={link(view, "/signals")} class="sheet">
        <Hidden view={view} fields={fields} />
        <Field
          label="Data"
          name="data"
          value={data}
          help="JSON, for example true, 42 or a text in quotation marks"
          errors={problem === undefined ? {} : { data: problem }}
          attributes={{ required: true, placeholder: example, autocomplete: "off" }}
        />
        <div class="buttons">
          <a class="button" href={link(view, fields.back)}>Back</a>
          <button type="submit" class="primary">Signal</button>
        </div>
      </form>
    </Layout>
  );
}
