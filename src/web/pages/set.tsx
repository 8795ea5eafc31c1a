/**
 * `/scheduled`, `/retries` and `/dead`.
 *
 * @module
 */
import { jobs, type View } from "./view.tsx";
import { type JobList, JobListView, QueueNames } from "./job_table.tsx";
import { Layout } from "./layout.tsx";

const TITLES: Readonly<Record<string, readonly [title: string, about: string]>> = {
  scheduled: ["Scheduled", "waiting for their time"],
  retry: ["Retries", "that failed and will be tried again"],
  dead: ["Dead", "that failed for good, kept to be looked at"],
};

/** One set. */
export function SetPage({ view, list }: { readonly view: View; readonly list: JobList }) {
  const [title, about] = TITLES[list.place.in]!;
  return (
    <Layout view={view} title={title}>
      <div class="heading">
        <h1>{title}</h1>
        <span class="note">{jobs(list.size)} {about}</span>
      </div>
      <QueueNames view={view} />
      <JobListView view={view} list={list} />
    </Layout>
  );
}
