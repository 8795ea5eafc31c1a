/**
 * Questions before an action.
 *
 * @module
 */
import { Field } from "./field.tsx";
import { QueueNames } from "./job_table.tsx";
import { Layout } from "./layout.tsx";
import { Hidden, link, type View } from "./view.tsx";

/** Asks for a confirmation before an action that cannot be undone or concerns many jobs. Back has the focus. */
export function ConfirmPage({ view, question, explanation, label, action, fields, refs }: {
  readonly view: View;
  readonly question: string;
  /** The consequences, if the question doesn't name them. */
  readonly explanation?: string | undefined;
  /** The label of the action's button, such as "Delete 21 jobs". */
  readonly label: string;
  /** The path that the form is sent to. */
  readonly action: string;
  readonly fields: Readonly<Record<string, string | undefined>>;
  readonly refs: readonly string[];
}) {
  return (
    <Layout view={view} title="Confirm">
      <div class="confirm">
        <h1>{question}</h1>
        {explanation !== undefined && <p class="note">{explanation}</p>}
        <form method="post" action={link(view, action)}>
          <Hidden view={view} fields={{ ...fields, confirmed: "yes" }} />
          {refs.map((ref) => <input type="hidden" name="ref" value={ref} />)}
          <div class="buttons">
            <a class="button" href={link(view, fields["back"] ?? "/")} autofocus>Back</a>
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
