/**
 * The groups of a queue on its page, and `/queues/NAME/groups/GROUP`: a group, its limit, and its jobs.
 *
 * @module
 */
import type { Context, Hono } from "hono";
import { formatDuration } from "../../job/duration.ts";
import { isGroup } from "../../job/group.ts";
import { limitGroup, pauseGroup, resumeGroup } from "../../operator/actions/queues.ts";
import { textsInput } from "../../operator/shapes/shape.ts";
import { type GroupInfo, MAX_WEIGHT } from "../../store/port/groups.ts";
import { formatStarts } from "../../store/port/limits.ts";
import { number } from "../../text/format.ts";
import { GROUP_COLUMNS, groupHeldText, groupLimitText, groupName, limitOfGroup, shareText } from "../../text/groups.ts";
import { actFor } from "../act.ts";
import { HttpError } from "../http/body.ts";
import { formOf } from "../http/forms.ts";
import type { GroupList } from "../read/groups.ts";
import { requireQueue } from "../read/known.ts";
import { checkGroup, checkQueue, queuePath } from "../read/job_sets.ts";
import { type JobList, listOf } from "../read/paging.ts";
import type { Services, WebEnv } from "../services.ts";
import { Field, type FieldErrors, fieldErrors, FormProblem, LimitFields } from "./field.tsx";
import { JobListView } from "./job_table.tsx";
import { Layout } from "./layout.tsx";
import { List } from "./list.tsx";
import { back, html, viewOf } from "./responses.tsx";
import { ActionButton, Empty, Hidden, jobs, link, mayAct, type View } from "./view.tsx";

/** A refused form: its texts and errors. */
interface Refused {
  readonly running: string;
  readonly starts: string;
  readonly weight: string;
  readonly for: string;
  readonly errors: FieldErrors;
}

/** Adds the page of a group, and the forms for the limit of a group and of each group. */
export function groupRoutes(app: Hono<WebEnv>, services: Services): void {
  const page = "/queues/:name/groups/:group";
  app.get(page, (c) => show(services, c));
  app.post(`${page}/limit`, async (c) => {
    const [queue, group] = namesOf(c);
    const form = await formOf(c, services);
    const text = (name: string) => form.get(name)?.trim() ?? "";
    const texts = { running: text("running"), starts: text("starts"), weight: text("weight"), for: text("for") };
    try {
      // Without limits, the form removes them, whatever its other field says.
      const isLimited = texts.running + texts.starts + texts.weight !== "";
      const input = { name: queue, group, ...texts, for: isLimited ? texts.for : "" };
      const limited = await actFor(services, c.get("visitor"), limitGroup, textsInput(limitGroup.takes, input));
      const limit = groupLimitText(limited);
      const told = limit ? `Group ${group} is limited: ${limit}.` : `Group ${group} has no separate limit.`;
      return await back(services, c, { kind: "ok", text: told }, queuePath(queue, group));
    } catch (error) {
      const names = { running: "running", starts: "starts", weight: "weight", for: "for" };
      return await show(services, c, { ...texts, errors: fieldErrors(error, names) });
    }
  });
  for (const [verb, action] of Object.entries({ pause: pauseGroup, resume: resumeGroup })) {
    app.post(`${page}/${verb}`, async (c) => {
      const [queue, group] = namesOf(c);
      const { paused } = await actFor(services, c.get("visitor"), action, { name: queue, group });
      const text = `Group ${groupName(group)} ${paused ? "paused" : "resumed"}.`;
      return await back(services, c, { kind: "ok", text }, queuePath(queue, group));
    });
  }
  // The address of a refused form: a reload shows the page with the form open.
  app.get(`${page}/limit`, (c) => c.redirect(services.prefix + queuePath(...namesOf(c)), 303));
}

function namesOf(c: Context<WebEnv>): [queue: string, group: string] {
  return [checkQueue(c.req.param("name") ?? ""), checkGroup(c.req.param("group") ?? "")];
}

async function show(services: Services, c: Context<WebEnv>, refused?: Refused): Promise<Response> {
  const [queue, name] = namesOf(c);
  const [shared, list, { groups: [group] }] = await Promise.all([
    viewOf(services, c),
    listOf(services, c, { in: "queue", queue, group: name }),
    services.store.admin.groups(queue, { group: name }),
  ]);
  await requireQueue(services, shared.stats, queue);
  if (group === undefined) {
    throw new HttpError(404, `Group "${name}" not found: no job was pushed to queue "${queue}", which has no limit`);
  }
  const view = refused === undefined ? shared : { ...shared, here: queuePath(queue, name) };
  const status = refused === undefined && list.errors === undefined ? 200 : 422;
  return html(services, c, <GroupPageView {...{ view, queue, group, list, refused }} />, status);
}

function GroupPageView({ view, queue, group, list, refused }: {
  readonly view: View;
  readonly queue: string;
  readonly group: GroupInfo;
  readonly list: JobList;
  readonly refused: Refused | undefined;
}) {
  const held = groupHeldText(group);
  const verb = group.paused ? "resume" : "pause";
  const label = group.paused ? "Resume" : "Pause";
  return (
    <Layout view={view} title={`Group ${groupName(group.name)} of queue ${queue}`}>
      <div class="heading">
        <a class="crumb" href={link(view, "/queues")}>Queues</a>
        <a class="crumb" href={link(view, queuePath(queue))}>{queue}</a>
        <h1>{groupName(group.name)}</h1>
        {held !== "" && <span class="badge warn">{held}</span>}
        <span class="note">
          {jobs(group.size)}, {number(group.running)} running
          {group.fairShare !== undefined && `, fair share ${shareText(group.fairShare)}`}
        </span>
        <span class="grow"></span>
        {mayAct(view, { queue }) && (
          <ActionButton
            view={view}
            path={`${queuePath(queue, group.name)}/${verb}`}
            label={label}
            title={`${label} group ${groupName(group.name)}`}
          />
        )}
        {mayAct(view, { queue, deletes: true }) && group.size > 0 && (
          <ActionButton
            view={view}
            path="/jobs/act"
            fields={{ in: `queue:${queue}|${group.name}`, do: "delete", scope: "all" }}
            label="Clear"
            title={`Clear group ${groupName(group.name)}`}
            kind="danger"
          />
        )}
      </div>
      {mayAct(view, { queue }) && isGroup(group.name) && <LimitForm {...{ view, queue, group, refused }} />}
      <JobListView view={view} list={list} nothing={<Empty title="No queued jobs in this group." />} />
    </Layout>
  );
}

/** The form for the separate limit of a group; open after an error, with the texts that were typed. */
function LimitForm({ view, queue, group, refused }: {
  readonly view: View;
  readonly queue: string;
  readonly group: GroupInfo;
  readonly refused: Refused | undefined;
}) {
  const { isOwn, sharesLimit, limit, weight, endsInMs } = group;
  const own = isOwn && !sharesLimit ? limit : undefined;
  const current = limitOfGroup(group);
  const texts = refused ?? {
    running: own?.running === undefined ? "" : String(own.running),
    starts: own?.starts === undefined ? "" : formatStarts(own.starts),
    weight: isOwn && weight !== 1 ? String(weight) : "",
    for: isOwn && endsInMs !== undefined ? formatDuration(endsInMs) : "",
    errors: {},
  };
  const { errors } = texts;
  return (
    <details class="limit" open={refused !== undefined}>
      <summary>{current === "" ? "Set a limit" : `Limit: ${current}${isOwn ? "" : ", as of each group"}`}</summary>
      <FormProblem errors={errors} />
      <form method="post" action={link(view, `${queuePath(queue, group.name)}/limit`)}>
        <Hidden view={view} />
        <LimitFields texts={texts} errors={errors} />
        <Field
          label="Weight"
          name="weight"
          value={texts.weight}
          help="Share of the queue in relation to other groups."
          errors={errors}
          attributes={{ type: "number", min: "1", max: String(MAX_WEIGHT), placeholder: "1" }}
        />
        <Field
          label="Ends after"
          name="for"
          value={texts.for}
          help="Such as 2h or 30d. Empty: until it is changed. Without any limit, that of each group applies."
          errors={errors}
          attributes={{ placeholder: "never" }}
        />
        <button type="submit">Save limit</button>
      </form>
    </details>
  );
}

/** The groups of a queue; nothing if it has none. */
export function Groups(
  { view, queue, page }: { readonly view: View; readonly queue: string; readonly page: GroupList },
) {
  if (page.groups.length === 0 && page.find === "" && !page.isLater) return null;
  const isLong = page.next !== undefined || page.isLater || page.find !== "";
  return (
    <section class="groups">
      <div class="heading">
        <h2>Groups</h2>
        {isLong && (
          <form action={link(view, queuePath(queue))} class="inline">
            <input
              type="search"
              name="find"
              value={page.find}
              aria-label="Name of a group"
              placeholder="Name of a group"
              autocomplete="off"
            />
            <button type="submit">Find</button>
            {page.find !== "" && <a class="button" href={link(view, queuePath(queue))}>Clear</a>}
          </form>
        )}
      </div>
      <p class="note">
        Fair share: the part of the queue's next jobs that a group's weight gives it. It isn't a measurement.
      </p>
      <div id="groups" data-live>
        {page.slowest !== undefined && (
          <p class="note">
            Slowest: <a href={link(view, queuePath(queue, page.slowest.name))}>{groupName(page.slowest.name)}</a>
            , whose oldest job has been queued for {formatDuration(page.slowest.latencyMs)}.
          </p>
        )}
        {page.groups.length === 0 && <Empty title="No matching groups." />}
        {page.groups.length > 0 && (
          <List
            view={view}
            columns={GROUP_COLUMNS}
            rows={page.groups}
            looks={{
              group: ({ name }, text) => <a class="class" href={link(view, queuePath(queue, name))}>{text}</a>,
              state: (_, text) => text !== "" && <span class="badge warn">{text}</span>,
            }}
          />
        )}
      </div>
      {page.next !== undefined && (
        <p>
          <a href={link(view, queuePath(queue), { groups: page.next, find: page.find })}>More groups</a>
        </p>
      )}
      <h2>Jobs without a group</h2>
      <p class="note" id="ungrouped" data-live>
        {page.ungroupedFairShare !== undefined && `Fair share: ${shareText(page.ungroupedFairShare)}.`}
      </p>
    </section>
  );
}
