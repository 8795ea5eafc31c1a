/**
 * Fields of forms. A field keeps what was typed, and has its error below it.
 *
 * @module
 */
import { MAX_RUNNING } from "../../store/port/limits.ts";
import { Refused } from "../../operator/actions/action.ts";
import { InvalidInput } from "../../operator/shapes/shape.ts";
import { HttpError } from "../http/body.ts";
import { QueueNames } from "./job_table.tsx";
import type { View } from "./view.tsx";

/** Errors by field name; under the empty name, one of the whole form. */
export type FieldErrors = Readonly<Record<string, string>>;

/** A labelled field. Its help and its error describe it for screen readers. */
export function Field({ label, name, value, help, errors = {}, rows, attributes = {} }: {
  readonly label: string;
  readonly name: string;
  readonly value: string;
  readonly help?: string | undefined;
  readonly errors?: FieldErrors | undefined;
  /** The lines of a multi-line field. Default: an input. */
  readonly rows?: number;
  /** More attributes of the input. */
  readonly attributes?: Readonly<Record<string, unknown>>;
}) {
  const error = errors[name];
  const described = [error !== undefined && `${name}-error`, help !== undefined && `${name}-help`].filter(Boolean);
  const common = {
    name,
    autocomplete: "off",
    spellcheck: false,
    "aria-describedby": described.length > 0 ? described.join(" ") : undefined,
    "aria-invalid": error === undefined ? undefined : "true",
    autofocus: name === firstName(errors),
    ...attributes,
  };
  return (
    <div class={error === undefined ? "field" : "field wrong"}>
      <label>
        {label}
        {rows === undefined
          ? <input value={value} {...common} />
          : <textarea rows={rows} {...common}>{value}</textarea>}
      </label>
      {error !== undefined && <span class="problem" id={`${name}-error`}>{error}</span>}
      {help !== undefined && <span class="help" id={`${name}-help`}>{help}</span>}
    </div>
  );
}

/** The state that the fields of a form share: the texts that were typed, and the errors. */
interface FormState<Name extends string> {
  readonly texts: Readonly<Record<Name, string>>;
  readonly errors?: FieldErrors | undefined;
}

/** The fields that name a class, with the known classes to choose from, and its arguments. */
export function ClassFields({ texts, errors, classes }: FormState<"class" | "args"> & {
  readonly classes: readonly string[];
}) {
  return (
    <>
      <Field
        label="Class"
        name="class"
        value={texts.class}
        errors={errors}
        attributes={{ required: true, list: "class-names" }}
      />
      <datalist id="class-names">{classes.map((name) => <option value={name}></option>)}</datalist>
      <Field
        label="Arguments"
        name="args"
        value={texts.args}
        help='A JSON array, such as ["bob", 42].'
        errors={errors}
        rows={4}
        attributes={{ class: "mono" }}
      />
    </>
  );
}

/** The field that names a queue, with the existing queues to choose from. */
export function QueueField({ view, texts, errors, placeholder }: FormState<"queue"> & {
  readonly view: View;
  readonly placeholder: string;
}) {
  return (
    <>
      <Field
        label="Queue"
        name="queue"
        value={texts.queue}
        errors={errors}
        attributes={{ list: "queue-names", placeholder }}
      />
      <QueueNames view={view} />
    </>
  );
}

/** The fields of a limit. */
export function LimitFields({ texts, errors }: FormState<"running" | "starts">) {
  return (
    <>
      <Field
        label="Max concurrent"
        name="running"
        value={texts.running}
        help="Running at the same time, across all workers. Empty for no limit."
        errors={errors}
        attributes={{ type: "number", min: "1", max: String(MAX_RUNNING), placeholder: "no limit" }}
      />
      <Field
        label="Rate limit"
        name="starts"
        value={texts.starts}
        help="Starts per period, such as 100/1m. Empty for no limit."
        errors={errors}
        attributes={{ placeholder: "no limit" }}
      />
    </>
  );
}

function firstName(errors: FieldErrors): string | undefined {
  return Object.keys(errors).find((name) => name !== "");
}

/** The message above a form that was refused: the error of the form, or a pointer to those of the fields. */
export function FormProblem({ errors }: { readonly errors: FieldErrors }) {
  const count = Object.keys(errors).filter((name) => name !== "").length;
  const text = errors[""] ??
    (count === 0 ? undefined : count === 1 ? "One field is invalid." : `${count} fields are invalid.`);
  if (text === undefined) return null;
  return <div class="flash bad" role="alert">{text.split("\n").map((line) => <div>{line}</div>)}</div>;
}

/**
 * Returns the error of a refused form by field.
 *
 * @param fields names of errors' fields, and the form's field for each
 * @throws the error, unless it is one of the visitor's
 */
export function fieldErrors(error: unknown, fields: Readonly<Record<string, string>>): FieldErrors {
  if (!(error instanceof HttpError || error instanceof InvalidInput || error instanceof Refused)) throw error;
  // `args[0].name` is in the field `args`.
  const root = error.field?.split(/[.[]/)[0] ?? "";
  return { [Object.hasOwn(fields, root) ? fields[root]! : ""]: error.message };
}
